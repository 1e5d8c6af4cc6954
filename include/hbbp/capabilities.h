/* capabilities.h: what can this machine, kernel and user do? Found out by trying. */
#ifndef HBBP_CAPABILITIES_H_
#define HBBP_CAPABILITIES_H_

#include "samples.h"
#include "status.h"

HBBP_EXTERN_C_BEGIN

typedef int32_t hbbp_capability_state;
enum {
  HBBP_CAPABILITY_UNKNOWN = 0,   /* could not be tried */
  HBBP_CAPABILITY_SUPPORTED = 1, /* tried, works */
  HBBP_CAPABILITY_MISSING = 2,   /* hardware or kernel has no such thing */
  HBBP_CAPABILITY_DENIED = 3     /* there, but this process may not use it */
};

typedef struct hbbp_capability {
  uint32_t struct_size; /* set by hbbp_capabilities_copy */
  hbbp_capability_state state;
  const char *name;   /* a stable key: "perf_event_open", "task_clock", "cpu_clock",
                         "hardware_instructions", "precise_instructions", "branch_stack",
                         "ibs_op", "ibs_fetch", "breakpoint", "sigtrap", "inherit_thread",
                         "kernel_sampling", "seccomp", "branch_tracing" (the detail says by which
                         method), "thread_timers", "native_stubs" */
  const char *detail; /* what was found, with the numbers: "period 1 ns to ..., paranoid 2" */
  const char *advice; /* what to change to get it; empty if there is nothing to change */
} hbbp_capability;

typedef struct hbbp_capabilities hbbp_capabilities;

/* Opens and closes perf events on the calling thread; takes some milliseconds.
 * Errors:
 *   HBBP_ERROR_INVALID_ARGUMENT  capabilities is NULL
 *   HBBP_ERROR_NO_MEMORY
 * Any thread. Since 0.1. */
HBBP_API hbbp_status hbbp_capabilities_probe(hbbp_capabilities **capabilities, hbbp_error *error);

/* NULL is allowed. Any thread. Since 0.1. */
HBBP_API void hbbp_capabilities_destroy(hbbp_capabilities *capabilities);

/* The order never changes; read as api.h says. Since 0.1. */
HBBP_API size_t hbbp_capabilities_count(const hbbp_capabilities *capabilities);
HBBP_API hbbp_status hbbp_capabilities_copy(const hbbp_capabilities *capabilities, size_t first,
                                            size_t count, size_t size, hbbp_capability *elements,
                                            size_t *copied, hbbp_error *error);

/* An event of the kernel or the PMU, for hbbp_session_options. */
typedef struct hbbp_event_code {
  uint32_t struct_size; /* set by the caller */
  hbbp_event event;     /* what it counts, or HBBP_EVENT_OTHER */
  uint64_t type;        /* as in perf_event_attr */
  uint64_t config;
} hbbp_event_code;

/* Finds an event by its code ("r20c4"), a name that perf has for an event of the kernel
 * ("cache-misses", "page-faults"), "taken-branches" (the event of this processor), or a name of
 * libpfm4 ("BR_INST_RETIRED:NEAR_TAKEN", "perf::page-faults"), which is loaded when a name first
 * needs it. A found event may still be refused when a session starts: a PMU need not have it.
 * Errors:
 *   HBBP_ERROR_INVALID_ARGUMENT  NULL
 *   HBBP_ERROR_NOT_FOUND         no such event is known for this processor
 *   HBBP_ERROR_UNSUPPORTED       libpfm4 is not installed
 * Any thread. Since 0.1. */
HBBP_API hbbp_status hbbp_event_find(const char *name, hbbp_event_code *code, hbbp_error *error);

HBBP_EXTERN_C_END

#if defined(HBBP_DISABLE)
#define HBBP_DISABLE_CAPABILITIES
#include "disabled.inc"
#endif

#endif /* HBBP_CAPABILITIES_H_ */
