/* loops.h: the loops that a program ran, and how often they iterated.
 *
 * A back edge leads to a block, the header, that every way to where it comes from passes. A natural
 * loop is the header with all that reaches a back edge to it without passing the header. Cycles
 * that can be entered at several blocks are irreducible regions: they are in the list, with their
 * instructions, but have no trip count.
 *
 * An iteration is an execution of the header; whatever comes to it otherwise than along a back edge
 * enters the loop. The average trip count is iterations by entries, which bursts that begin by a
 * clock see more or less often than they should; what they see of exits corrects that. Taken
 * branches say it best, where branches were observed (SWBT, LBR); counts of blocks say it where
 * they determine how often the edges into the loop, or out of it, were taken. The loops of a
 * function are those of its code and of the indirect jumps that were observed; calls out of a loop
 * are not part of it.
 */
#ifndef HBBP_LOOPS_H_
#define HBBP_LOOPS_H_

#include "analysis.h"

HBBP_EXTERN_C_BEGIN

/* hbbp_loop.flags */
enum {
  /* A region that can be entered at several blocks; `header` is one of them. Also a loop whose
   * header would be a jump table that several jumps share. */
  HBBP_LOOP_IRREDUCIBLE = 1
};

/* How an average trip count is known. */
typedef int32_t hbbp_trip_basis;
enum {
  HBBP_TRIPS_UNKNOWN = 0,     /* irreducible, not determined, or seen neither entered nor left */
  HBBP_TRIPS_BY_BRANCHES = 1, /* taken branches and streams, into the header and out of the loop */
  HBBP_TRIPS_BY_COUNTS = 2    /* counts of blocks */
};

/* Numbers that are not known are 0. Each standard error is one sigma of the number before it. */
typedef struct hbbp_loop {
  uint32_t struct_size; /* set by hbbp_loops_copy */
  uint32_t module;      /* index of its module */
  uint32_t function;    /* index of its function */
  uint32_t parent;      /* index of the loop around it, which is smaller; HBBP_NO_INDEX: none */
  uint32_t depth;       /* 1: no loop is around it */
  uint32_t flags;       /* HBBP_LOOP_* */
  uint32_t blocks;      /* of its code, with those of the loops in it */
  hbbp_trip_basis trip_basis; /* of trip_count */
  uint64_t header;            /* address in the module */
  double entries;
  double entries_error;
  double iterations;
  double iterations_error;
  double trip_count; /* average; by branches if they say it, else by counts */
  double trip_count_error;
  double trip_count_by_branches;
  double trip_count_by_branches_error;
  double trip_count_by_counts;
  double trip_count_by_counts_error;
  double instructions; /* executed in it */
  double instructions_error;
  double own_instructions; /* those that are in no loop within it */
  double own_instructions_error;
} hbbp_loop;

typedef struct hbbp_loops hbbp_loops;

/* Finds the loops in which a block has a count, in order of module, function and nesting: the loop
 * around a loop comes before it. The result does not need the analysis afterwards. `work` may be
 * NULL.
 * Errors:
 *   HBBP_ERROR_INVALID_ARGUMENT  NULL
 *   HBBP_ERROR_NO_MEMORY
 * and those of hbbp_work_options. Any thread. Since 0.1. */
HBBP_API hbbp_status hbbp_loops_create(const hbbp_analysis *analysis, const hbbp_work_options *work,
                                       hbbp_loops **loops, hbbp_error *error);

/* NULL is allowed. Since 0.1. */
HBBP_API void hbbp_loops_destroy(hbbp_loops *loops);

/* Read as api.h says. Since 0.1. */
HBBP_API size_t hbbp_loops_count(const hbbp_loops *loops);
HBBP_API hbbp_status hbbp_loops_copy(const hbbp_loops *loops, size_t first, size_t count,
                                     size_t size, hbbp_loop *elements, size_t *copied,
                                     hbbp_error *error);

/* Copies, for blocks [first, first + count) of the analysis, the index of the innermost loop that
 * each is in, HBBP_NO_INDEX if in none. *copied gets how many blocks there were. Errors:
 *   HBBP_ERROR_INVALID_ARGUMENT  NULL
 * Any thread. Since 0.1. */
HBBP_API hbbp_status hbbp_loops_copy_of_blocks(const hbbp_loops *loops, size_t first, size_t count,
                                               uint32_t *indices, size_t *copied,
                                               hbbp_error *error);

HBBP_EXTERN_C_END

#if defined(HBBP_DISABLE)
#define HBBP_DISABLE_LOOPS
#include "disabled.inc"
#endif

#endif /* HBBP_LOOPS_H_ */
