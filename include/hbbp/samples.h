/* samples.h: the kinds of observation, the events that are counted, and how periods are chosen. */
#ifndef HBBP_SAMPLES_H_
#define HBBP_SAMPLES_H_

#include "api.h"

HBBP_EXTERN_C_BEGIN

/* What kind of observations a source gives. */
typedef int32_t hbbp_source_kind;
enum {
  HBBP_SOURCE_NONE = 0,         /* of session options: HBBP_SOURCE_AUTO */
  HBBP_SOURCE_EBS = 1,          /* event-based sampling: an instruction pointer a period */
  HBBP_SOURCE_LBR = 2,          /* last branch records */
  HBBP_SOURCE_IBS = 3,          /* AMD instruction-based sampling */
  HBBP_SOURCE_SWBT = 4,         /* software branch tracing */
  HBBP_SOURCE_TRUTH = 5,        /* exact counts from instrumentation */
  HBBP_SOURCE_AUTO = 6,         /* of session options only: the best that this machine has */
  HBBP_SOURCE_EBS_AND_SWBT = 7, /* of session options only: both at once, at one period */
  HBBP_SOURCE_COMBINED = 8,     /* of block counts only: several sources together */
  HBBP_SOURCE_EXTERNAL = 9, /* of session options only: those of hbbp_session_add_source alone */
  HBBP_SOURCE_PERF = 10     /* of session options only: LBR if this machine has it, else EBS; never
                               signal handlers */
};

/* The event whose occurrences make up a period. */
typedef int32_t hbbp_event;
enum {
  HBBP_EVENT_AUTO = 0,         /* instructions where a counter of the PMU costs little at context
                                  switches, else task-clock; docs/reference/hardware.md */
  HBBP_EVENT_TASK_CLOCK = 1,   /* nanoseconds that a thread ran */
  HBBP_EVENT_CPU_CLOCK = 2,    /* the same, by the clock of the CPU */
  HBBP_EVENT_INSTRUCTIONS = 3, /* instructions retired, as precise as the PMU can */
  HBBP_EVENT_CYCLES = 4,
  HBBP_EVENT_TAKEN_BRANCHES = 5, /* of sources, not of options, as the next two */
  HBBP_EVENT_OTHER = 6,          /* hbbp_source_info::event_name says which */
  HBBP_EVENT_UOPS = 7            /* dispatched, as IBS of AMD counts them */
};

typedef int32_t hbbp_period_mode;
enum {
  HBBP_PERIOD_PRIME = 0,  /* the largest prime that is not above the period. SWBT makes it RANDOM
                             of a clock and at its default period: programs resonate with any
                             period that stays the same */
  HBBP_PERIOD_FIXED = 1,  /* exactly the period */
  HBBP_PERIOD_RANDOM = 2, /* drawn anew, within 12.5 % of the period, every time that samples are
                             collected; a thread born during the session keeps one draw */
  HBBP_PERIOD_BY_FREQUENCY = 3 /* of sources, not of options: the kernel adapts it to a frequency */
};

/* How software branch tracing resolves branches that the code alone does not. */
typedef int32_t hbbp_trace_mode;
enum {
  HBBP_TRACE_LOOKAHEAD = 0,  /* by interpretation; by a breakpoint where that fails */
  HBBP_TRACE_BREAKPOINT = 1, /* by a breakpoint each */
  HBBP_TRACE_VERIFY = 2      /* by interpretation, each compared with what a breakpoint finds */
};

/* The longest burst of software branch tracing, in taken branches. */
#define HBBP_MAX_BURST_BRANCHES 65536

HBBP_EXTERN_C_END

#endif /* HBBP_SAMPLES_H_ */
