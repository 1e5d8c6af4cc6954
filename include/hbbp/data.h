/* data.h: blocks of memory that the profiled process calls by name.
 *
 * Samples of instruction-based sampling (IBS) say which memory an op accessed. Static data has the
 * names of its symbols without any doing. What a host allocates has none; this gives a block one,
 * so that hbbp_analysis_copy_ibs_objects (ibs.h) has its accesses:
 *
 *   HBBP_INIT(hbbp_data_region, region);
 *   region.address = (uint64_t)(uintptr_t)table;
 *   region.size = bytes;
 *   region.name = "hash table of the join";
 *   hbbp_session_add_data(session, &region, NULL);
 *   ...
 *   region.name = NULL;
 *   hbbp_session_add_data(session, &region, NULL);
 *   free(table);
 *
 * To a feed, the host adds HBBP_FEED_DATA instead (feed.h).
 */
#ifndef HBBP_DATA_H_
#define HBBP_DATA_H_

#include "session.h"

HBBP_EXTERN_C_BEGIN

/* The most blocks that are known at a time, and the most names, of all processes together. */
#define HBBP_MAX_DATA_BLOCKS 65536
#define HBBP_MAX_DATA_NAMES 16384

typedef struct hbbp_data_region {
  uint32_t struct_size; /* set by the caller */
  uint32_t reserved;    /* 0 */
  uint64_t address;
  uint64_t size;    /* bytes, at least 1 */
  const char *name; /* of the block, copied, at most 4096 bytes; blocks of one name are one object.
                       NULL: the memory was freed */
  uint64_t time_ns; /* of CLOCK_MONOTONIC, since when it is so; 0: now */
} hbbp_data_region;

/* The session counts accesses to this memory, from that time on, for the block of that name, or,
 * freed, for what was never reported. It replaces what was there, whose accesses stay its own: a
 * block need not be freed before another one is reported, and may be freed in part. May be called
 * before the session is started, and whether it runs or not; a child made by fork has to report its
 * blocks anew. Without HBBP_SOURCE_IBS nothing is counted for them. Takes a lock that the session's
 * worker also takes: not for signal handlers, nor for each of many small allocations. Any thread.
 * Not in libhbbp-collect. A block whose neighbours replace parts of it counts once for each part,
 * and each part once more for each block that had its memory, until all samples of that time are
 * counted; without a run, or without HBBP_SOURCE_IBS, none are to come. What replaced memory needs
 * counts as well: parts of memory that many blocks had are many.
 * Errors:
 *   HBBP_ERROR_INVALID_ARGUMENT  NULL; a size of 0; a range that ends beyond the address space; a
 *                                name that is empty or too long
 *   HBBP_ERROR_BUSY              HBBP_MAX_DATA_BLOCKS blocks or HBBP_MAX_DATA_NAMES names are
 *                                known; this block is not kept, its accesses count as those of
 *                                memory that was never reported, and the counter
 *                                "data-blocks-refused" has it
 *   HBBP_ERROR_NO_MEMORY         so that no older block has its accesses, no block of the process
 * is known any more; "data-blocks-refused" has this one, and theirs HBBP_ERROR_VERSION Since 0.1.
 */
HBBP_API hbbp_status hbbp_session_add_data(hbbp_session *session, const hbbp_data_region *region,
                                           hbbp_error *error);

HBBP_EXTERN_C_END

#if defined(HBBP_DISABLE)
#define HBBP_DISABLE_DATA
#include "disabled.inc"
#endif

#endif /* HBBP_DATA_H_ */
