/* jit.h: code that the profiled process generates while it runs.
 *
 * Samples in generated code are counted without any doing: the code around them is copied when the
 * first sample comes, and has the names that the JIT writes for perf, if it does: /tmp/perf-PID.map
 * (node --perf-basic-prof) or jit-PID.dump (node --perf-prof). A JIT that is the host's own can
 * report its code itself, which is what this is for: where code replaces code, each keeps its
 * samples.
 *
 *   HBBP_INIT(hbbp_code_region, region);
 *   region.address = (uint64_t)(uintptr_t)code;
 *   region.size = size;
 *   region.name = "inner loop of query 7";
 *   hbbp_session_add_code(session, &region, NULL);
 *   ((function)code)();
 *
 * To a feed, the host adds HBBP_FEED_CODE instead (feed.h).
 */
#ifndef HBBP_JIT_H_
#define HBBP_JIT_H_

#include "session.h"

HBBP_EXTERN_C_BEGIN

typedef struct hbbp_code_region {
  uint32_t struct_size; /* set by the caller */
  uint32_t reserved;    /* 0 */
  uint64_t address;     /* where it runs */
  uint64_t size;        /* bytes, at most 256 MiB */
  const void *code;     /* `size` bytes, which are copied; NULL: what is at `address` now */
  const char *name;     /* of the function that it is, copied; NULL: not known, or no function */
  uint64_t time_ns;     /* of CLOCK_MONOTONIC, since when it is there; 0: now */
} hbbp_code_region;

/* The session counts samples and branches at these addresses, from that time on, for this code, of
 * which it keeps a copy: a module "[generated code of PID]". It replaces what was there; freed code
 * need not be reported. May be called before the session is started, and whether it runs or not; a
 * child made by fork has to report its code anew. Costs a copy of the code and a lock that the
 * session's worker also takes: not for signal handlers. Any thread.
 * Errors:
 *   HBBP_ERROR_INVALID_ARGUMENT  NULL; a size of 0 or too large; a range that ends beyond the
 *                                address space
 *   HBBP_ERROR_NOT_FOUND         `code` is NULL, and memory at `address` cannot be read
 *   HBBP_ERROR_BUSY              256 MiB of code are known, or 256 generations of code at one
 *                                address; this code is not kept, and its samples count as those of
 *                                code that was never reported
 *   HBBP_ERROR_VERSION, HBBP_ERROR_NO_MEMORY
 * Since 0.1. */
HBBP_API hbbp_status hbbp_session_add_code(hbbp_session *session, const hbbp_code_region *region,
                                           hbbp_error *error);

HBBP_EXTERN_C_END

#if defined(HBBP_DISABLE)
#define HBBP_DISABLE_JIT
#include "disabled.inc"
#endif

#endif /* HBBP_JIT_H_ */
