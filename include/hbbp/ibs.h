/* ibs.h: what instruction-based sampling (IBS) of AMD says of single instructions.
 *
 * Each sample is one fetch or one op with all that happened to it. It is counted for every event
 * that it was, of those that AMD derives from IBS ("op-dc-misses"; docs/guide/import.md): events
 * whose names end in "-cycles" add up cycles, all others count samples. To get occurrences,
 * multiply samples by the period of the source.
 *
 * Lists are read as api.h says. Strings live as long as what they were asked of. Sums are by all
 * threads and sources together (lines: by thread and source); hbbp_profile_select gives those of
 * one thread. A profile without IBS has empty lists.
 */
#ifndef HBBP_IBS_H_
#define HBBP_IBS_H_

#include "analysis.h"

HBBP_EXTERN_C_BEGIN

/* An event of one instruction. */
typedef struct hbbp_ibs_sum {
  uint32_t struct_size; /* set by hbbp_analysis_copy_ibs_sums */
  uint32_t module;      /* index of its module */
  uint32_t function;    /* index of its function, or HBBP_NO_INDEX */
  uint32_t reserved;
  const char *event; /* "op-dc-misses" */
  uint64_t address;  /* in the module; run-time address in the kernel and in generated code;
                        HBBP_NO_ADDRESS: of all instructions of a module whose code is missing */
  uint64_t sum;      /* of samples or cycles, never 0 */
} hbbp_ibs_sum;

/* Samples whose latency was in [first_cycles, end_cycles). Buckets are log-linear, four to each
 * power of two: 0 to 7 cycles have one each, then come [8, 10), [10, 12), [12, 14), [14, 16),
 * [16, 20), ... up to [57344, 65536). */
typedef struct hbbp_ibs_bucket {
  uint32_t struct_size; /* set by hbbp_profile_copy_ibs_buckets */
  uint32_t reserved;
  const char *latency; /* "tag-to-retire", "completion-to-retire", "dc-miss", "dtlb-refill",
                          "fetch", "itlb-refill" */
  uint64_t first_cycles;
  uint64_t end_cycles;
  uint64_t samples; /* never 0 */
} hbbp_ibs_bucket;

/* Loads of one instruction that had their data from one level of memory, with a latency in
 * [first_cycles, end_cycles); buckets are those of hbbp_ibs_bucket. The levels, as in the events of
 * the north bridge ("op-nb-local-dram"); local is the node of the core:
 *   "l1", "l2"                     caches of the core; loads that hit L1 have a latency of 0
 *   "local-l3"                     or another cache of the core complex
 *   "local-cache", "remote-cache"  of another core complex; before Zen 4 the first one has those of
 *                                  the L3 cache, too
 *   "local-dram", "remote-dram"
 *   "extension-memory", "long-latency-memory", "peer-memory"  memory of other kinds
 *   "local-other", "remote-other"  devices, configuration space
 *   "miss-underway"                the line was on its way for another op
 *   "unknown"
 * All sources together keep about a million buckets; the counter "ibs-latencies-dropped" of a
 * source has the loads that found no room. */
typedef struct hbbp_ibs_latency {
  uint32_t struct_size; /* set by hbbp_analysis_copy_ibs_latencies */
  uint32_t module;      /* index of its module */
  uint32_t function;    /* index of its function, or HBBP_NO_INDEX */
  uint32_t reserved;
  const char *level;
  uint64_t address; /* as in hbbp_ibs_sum */
  uint64_t first_cycles;
  uint64_t end_cycles;
  uint64_t samples; /* never 0 */
} hbbp_ibs_latency;

/* Accesses of one thread to one line of 64 bytes, while its memory was of one NUMA node. Import
 * keeps the lines with the most samples, some tens of thousands of them; the counter
 * "ibs-accesses-dropped" of the source has the others. The node is known if the sample has the
 * physical address, which newer kernels give only to those that may profile the kernel, and
 * if this kernel, or the recording, says which memory is of which node. */
typedef struct hbbp_ibs_line {
  uint32_t struct_size; /* set by hbbp_profile_copy_ibs_lines */
  uint32_t pid;
  uint32_t tid;
  uint32_t node;    /* number of the NUMA node; HBBP_NO_INDEX: not known */
  uint64_t address; /* of the first byte, in the memory of the process */
  uint64_t loads;   /* samples, as the next two */
  uint64_t stores;
  uint64_t misses;      /* of the L1 data cache */
  uint64_t miss_cycles; /* of loads */
  uint64_t local;       /* loads with data from beyond the caches of their core, from its node */
  uint64_t remote;      /* likewise, from another node */
} hbbp_ibs_line;

/* What hbbp_ibs_object is. */
typedef int32_t hbbp_ibs_object_kind;
enum {
  HBBP_IBS_SYMBOL = 1,  /* static data that a symbol names: a variable, a constant table */
  HBBP_IBS_SECTION = 2, /* data of a module that no symbol names, as in stripped files, together by
                           section: "[.data]", "[.rodata]"; by segment where the file has no
                           sections: "[data]", "[read-only data]"; "[unknown]" where the file is
                           missing or another one by now */
  HBBP_IBS_BLOCK = 3,   /* memory that the process calls so: data.h, HBBP_FEED_DATA */
  HBBP_IBS_OTHER = 4    /* all other memory together, "[other memory]": heaps, stacks, memory of
                           threads (thread-local storage), the kernel's */
};

/* Accesses to one object. Modules have their data by their program headers, which are read when the
 * first sample finds it: their files must be there while a session runs or a recording is imported.
 * Data is kept by address, at most some tens of thousands of addresses. Of more, the least sampled
 * ones are kept by 8 bytes, then by 64, then by pages: where several objects share these, their
 * accesses count for the section. The counter "ibs-data-dropped" of a source has those that found
 * no room at all. */
typedef struct hbbp_ibs_object {
  uint32_t struct_size; /* set by hbbp_analysis_copy_ibs_objects */
  uint32_t module;      /* index of its module, of a symbol or section; else HBBP_NO_INDEX */
  hbbp_ibs_object_kind kind;
  uint32_t threads; /* that accessed it */
  const char *name; /* never NULL; mangled as in the symbol table */
  uint64_t address; /* in the module; HBBP_NO_ADDRESS: unknown, or not in a module */
  uint64_t size;    /* bytes; 0: unknown, or not in a module */
  uint64_t loads;   /* samples, as the next two */
  uint64_t stores;
  uint64_t misses;      /* of the L1 data cache */
  uint64_t miss_cycles; /* of loads */
  uint64_t local;       /* loads with data from beyond the caches of their core, from its node */
  uint64_t remote;      /* likewise, from another node */
} hbbp_ibs_object;

/* The sums are sorted by module and address. Since 0.1. */
HBBP_API size_t hbbp_analysis_ibs_sum_count(const hbbp_analysis *analysis);
HBBP_API hbbp_status hbbp_analysis_copy_ibs_sums(const hbbp_analysis *analysis, size_t first,
                                                 size_t count, size_t size, hbbp_ibs_sum *sums,
                                                 size_t *copied, hbbp_error *error);

/* The latencies are sorted by module, address, level (in the order above) and cycles. Since 0.1. */
HBBP_API size_t hbbp_analysis_ibs_latency_count(const hbbp_analysis *analysis);
HBBP_API hbbp_status hbbp_analysis_copy_ibs_latencies(const hbbp_analysis *analysis, size_t first,
                                                      size_t count, size_t size,
                                                      hbbp_ibs_latency *latencies, size_t *copied,
                                                      hbbp_error *error);

/* The objects are sorted by module and address; then come blocks, by name, and other memory.
 * Since 0.1. */
HBBP_API size_t hbbp_analysis_ibs_object_count(const hbbp_analysis *analysis);
HBBP_API hbbp_status hbbp_analysis_copy_ibs_objects(const hbbp_analysis *analysis, size_t first,
                                                    size_t count, size_t size,
                                                    hbbp_ibs_object *objects, size_t *copied,
                                                    hbbp_error *error);

/* The buckets are sorted by latency and cycles. Since 0.1. */
HBBP_API size_t hbbp_profile_ibs_bucket_count(const hbbp_profile *profile);
HBBP_API hbbp_status hbbp_profile_copy_ibs_buckets(const hbbp_profile *profile, size_t first,
                                                   size_t count, size_t size,
                                                   hbbp_ibs_bucket *buckets, size_t *copied,
                                                   hbbp_error *error);

/* The lines are sorted by address. Since 0.1. */
HBBP_API size_t hbbp_profile_ibs_line_count(const hbbp_profile *profile);
HBBP_API hbbp_status hbbp_profile_copy_ibs_lines(const hbbp_profile *profile, size_t first,
                                                 size_t count, size_t size, hbbp_ibs_line *lines,
                                                 size_t *copied, hbbp_error *error);

HBBP_EXTERN_C_END

#if defined(HBBP_DISABLE)
#define HBBP_DISABLE_IBS
#include "disabled.inc"
#endif

#endif /* HBBP_IBS_H_ */
