/* profile.h: what was counted, as data: sources, threads, modules, and what was lost.
 *
 * A profile is immutable. It has no blocks and no instructions: hbbp_analysis_create (analysis.h)
 * finds them. It comes from a session, a feed, a file (hbbp_profile_load) or a recording of perf
 * (import.h), and can be saved, merged and cut.
 */
#ifndef HBBP_PROFILE_H_
#define HBBP_PROFILE_H_

#include "host.h"
#include "samples.h"
#include "status.h"

HBBP_EXTERN_C_BEGIN

typedef struct hbbp_profile hbbp_profile;

#define HBBP_NO_INDEX UINT32_MAX
#define HBBP_NO_ADDRESS UINT64_MAX

typedef int32_t hbbp_module_kind;
enum {
  HBBP_MODULE_FILE = 0,      /* a mapped ELF file */
  HBBP_MODULE_VDSO = 1,      /* the kernel's page of user code */
  HBBP_MODULE_ANONYMOUS = 2, /* generated code, or code of a file that is not ELF */
  HBBP_MODULE_KERNEL = 3
};

typedef struct hbbp_module {
  uint32_t struct_size; /* set by hbbp_profile_copy_modules */
  hbbp_module_kind kind;
  const uint8_t *build_id;
  uint32_t build_id_size; /* bytes; 0 if there is none */
  uint32_t reserved;
  const char *path; /* as mapped: "/usr/bin/lua5.4", "[vdso]", "[kernel]" */
  uint64_t samples; /* EBS: in it; SWBT: taken branches into it */
} hbbp_module;

typedef struct hbbp_thread {
  uint32_t struct_size; /* set by hbbp_profile_copy_threads */
  uint32_t pid;
  uint32_t tid;
  uint32_t reserved;
  const char *name; /* as in /proc/PID/task/TID/comm when it was first seen */
  uint64_t samples; /* SWBT: bursts */
} hbbp_thread;

typedef int32_t hbbp_unit;
enum {
  HBBP_UNIT_INSTRUCTIONS = 0,   /* a period counts instructions: block counts are absolute */
  HBBP_UNIT_NANOSECONDS = 1,    /* a period counts time: block counts are up to a factor, or, if
                                   hbbp_source_info.extent_in_events is 1, executions by a model of
                                   how long code takes */
  HBBP_UNIT_CYCLES = 2,         /* a period counts cycles: block counts are up to a factor, or, of
                                   branch stacks whose extent_in_events is 1, absolute */
  HBBP_UNIT_TAKEN_BRANCHES = 3, /* a period counts taken branches: block counts are absolute */
  HBBP_UNIT_EVENTS = 4,         /* as CYCLES; also instructions between bursts of SWBT that
                                   were not weighed by their instructions (older profiles) */
  HBBP_UNIT_UOPS = 5            /* a period counts dispatched micro-operations: block counts are
                                   absolute, as far as those of each instruction are known */
};

/* Which instruction a sample counts for. */
typedef int32_t hbbp_ebs_method;
enum {
  HBBP_EBS_AUTO = 0,       /* IP_PLUS_ONE for precise events with branch stacks, else PLAIN */
  HBBP_EBS_PLAIN = 1,      /* the one at its instruction pointer */
  HBBP_EBS_IP_PLUS_ONE = 2 /* the one that was executed before that, as far as the newest branch of
                              the sample shows; not where the sample says that its IP is exact */
};

typedef struct hbbp_source_info {
  uint32_t struct_size; /* set by hbbp_profile_copy_sources */
  hbbp_source_kind kind;
  hbbp_event event;
  hbbp_period_mode period_mode;
  hbbp_unit unit;
  uint32_t include_kernel;
  uint64_t period; /* asked for, in occurrences of the event; 0: by frequency */
  uint64_t frequency_hz;
  uint64_t samples;   /* SWBT: bursts that arrived */
  uint64_t lost;      /* the kernel had no room for them */
  uint64_t throttled; /* times that the kernel held sampling back */
  uint64_t unmapped;  /* samples, or targets of taken branches, at addresses that no known mapping
                         contains */
  const char *note;   /* what was assumed or chosen and why, one line; may be empty */
  /* The tracer of HBBP_SOURCE_SWBT counts these; 0 and empty for other sources: */
  uint64_t bursts;
  uint64_t taken_branches;
  uint64_t breakpoints;            /* that were hit */
  uint64_t lookahead_instructions; /* interpreted */
  uint64_t decoded_instructions;   /* decoded, because they were not known yet */
  uint64_t handler_ns;             /* in signal handlers */
  uint64_t verified_branches;      /* HBBP_TRACE_VERIFY: compared with a native walk */
  uint64_t disagreements;          /* of these, wrong; those that a change of memory, of code or of
                                      the way of the thread explains are counters of their own
                                      ("disagreement-...", hbbp_profile_copy_counters) */
  const char *mode; /* "lookahead", "breakpoint", "verify"; after a merge of different ones, all of
                       them, with "; " in between */
  const char *method;     /* what it sampled and stepped with, and why nothing better; as mode */
  const char *event_name; /* where `event` does not say it all: as the recording, the vendor or
                             libpfm4 spells it, with perf's modifiers; else empty */
  /* How instruction pointers came about: */
  uint32_t precise_ip;        /* of its perf_event_attr: 0 (any skid) to 3 (none) */
  hbbp_ebs_method ebs_method; /* HBBP_EBS_PLAIN or HBBP_EBS_IP_PLUS_ONE */
  uint64_t smallest_period;   /* of the samples of an imported source; 0: it has none */
  uint64_t largest_period;
  /* SWBT and LBR: what the weight of a burst is its period divided by. 1: the occurrences of the
     event in what it covers; of a clock, how long that takes by a model of the processor; of
     cycles, those in the branch stack. 0: the number of its streams. Of LBR it is known, and stays,
     when the first stack with a stream was counted */
  uint32_t extent_in_events;
  uint32_t reserved;
} hbbp_source_info;

/* A number and what it counts. */
typedef struct hbbp_counter {
  uint32_t struct_size; /* set by the function that copies it */
  uint32_t reserved;
  const char *name; /* stable: "system-call" */
  uint64_t value;
} hbbp_counter;

typedef struct hbbp_profile_info {
  uint32_t struct_size; /* set by the caller */
  uint32_t pid;
  uint64_t start_time_ns; /* since 1970, when the session first started */
  uint64_t duration_ns;   /* that it ran */
  const char *command;    /* arguments joined by spaces; may be empty */
  const char *host;       /* kernel and machine; may be empty */
  uint64_t samples;       /* of all sources, as the next three */
  uint64_t lost;
  uint64_t throttled;
  uint64_t unmapped;
  uint64_t recordings; /* that it is the sum of; 1 for a recording */
  /* Of bursts and branch stacks, if the profile keeps them (hbbp_session_options.kept_burst_bytes);
     a burst that misses something in between is as many as it has parts: */
  uint64_t kept_bursts;     /* with their branches in order */
  uint64_t bursts_not_kept; /* counted only, as there was no room */
} hbbp_profile_info;

/* Files ------------------------------------------------------------------------------------ */

/* Reads a profile file. `work` may be NULL.
 * Errors:
 *   HBBP_ERROR_NOT_FOUND, HBBP_ERROR_PERMISSION, HBBP_ERROR_IO  of the file
 *   HBBP_ERROR_BAD_FORMAT  truncated, damaged or not a profile; the message says where
 *   HBBP_ERROR_VERSION     made by a newer library
 * and those of hbbp_work_options. Any thread. Since 0.1. */
HBBP_API hbbp_status hbbp_profile_load(const char *path, const hbbp_work_options *work,
                                       hbbp_profile **profile, hbbp_error *error);

/* Replaces `path` atomically. Code that could not be read again from a file later (vdso,
 * generated code, deleted files, memory of the kernel) is stored with the counts, as are the names
 * of kernel functions. The new file is its owner's alone (mode 0600). `work` may be NULL.
 * Errors:
 *   HBBP_ERROR_NOT_FOUND   no such directory
 *   HBBP_ERROR_PERMISSION, HBBP_ERROR_IO
 * and those of hbbp_work_options. Any thread. Since 0.1. */
HBBP_API hbbp_status hbbp_profile_save(const hbbp_profile *profile, const char *path,
                                       const hbbp_work_options *work, hbbp_error *error);

/* NULL is allowed. What was made of the profile (analyses, parts, sums) stays valid. Since 0.1. */
HBBP_API void hbbp_profile_destroy(hbbp_profile *profile);

/* Sums and parts ---------------------------------------------------------------------------- */

/* The sum of `count` >= 1 profiles. Modules are the same if their build IDs are (or, without build
 * IDs, their paths). Sources are added up where kind, event and period agree and kept apart
 * otherwise. Those of one event count a block together; of those of several events, an analysis
 * counts by one (hbbp_analysis_options.event), and what was sampled of the others adds nothing.
 * Threads are the same if pid and tid are; generated code is, if pid and start of the profile are.
 * Kept bursts are those of the first profiles, up to 256 MiB (libhbbp-collect: none). Bursts of
 * each recording go to other replicates, of which standard errors are computed, so that these are
 * those of as many bursts in one recording. Processes that ran at the same time are one run, which
 * took from its start to its end; the durations of runs are added up. `work` may be NULL; its
 * progress is in profiles.
 * Errors:
 *   HBBP_ERROR_INVALID_ARGUMENT  NULL; `count` is 0
 *   HBBP_ERROR_NO_MEMORY
 * and those of hbbp_work_options. Any thread. Since 0.1. */
HBBP_API hbbp_status hbbp_profile_merge(const hbbp_profile *const *profiles, size_t count,
                                        const hbbp_work_options *work, hbbp_profile **merged,
                                        hbbp_error *error);

/* A sum that grows by one profile at a time: of more of them than fit into memory. It keeps what is
 * in the sum, and of each profile 40 bytes; from the first profile with slices of time on it keeps
 * all counts until the sum is finished, unless slices are dropped. The sum is that of
 * hbbp_profile_merge. Its counts and their errors are the same in any order and whichever profiles
 * are sums themselves, except for rounding. What may differ is the order of lists; command, host,
 * names and notes of sources, which are those of the first profile; which bursts are kept; and,
 * where profiles are sums, the duration of runs that overlap and where their slices are. One thread
 * at a time may use it. libhbbp-collect does not have it. */
typedef struct hbbp_merger hbbp_merger;

/* hbbp_merger_options.dropped, combined by |: what is not in the sum. Threads and processes of many
 * hosts and days are more than there is code. Without threads all counts are of one, pid and tid
 * 0. */
enum { HBBP_MERGER_DROP_THREADS = 1u << 0, HBBP_MERGER_DROP_SLICES = 1u << 1 };

typedef struct hbbp_merger_options {
  uint32_t struct_size; /* set by the caller */
  uint32_t dropped;     /* HBBP_MERGER_DROP_*, or 0 */
} hbbp_merger_options;

/* `options` may be NULL.
 * Errors:
 *   HBBP_ERROR_INVALID_ARGUMENT  NULL; a bit of `dropped` that this library does not know
 *   HBBP_ERROR_NO_MEMORY
 * Any thread. Since 0.1. */
HBBP_API hbbp_status hbbp_merger_create(const hbbp_merger_options *options, hbbp_merger **merger,
                                        hbbp_error *error);

/* Adds a profile, which is not needed any longer then. `work` may be NULL.
 * Errors:
 *   HBBP_ERROR_INVALID_ARGUMENT  NULL
 *   HBBP_ERROR_INVALID_STATE     it is finished, or a call failed that had begun to change it
 *   HBBP_ERROR_NO_MEMORY         the sum is lost
 * and those of hbbp_work_options; if it was cancelled, the sum is lost. Since 0.1. */
HBBP_API hbbp_status hbbp_merger_add(hbbp_merger *merger, const hbbp_profile *profile,
                                     const hbbp_work_options *work, hbbp_error *error);

/* Makes the sum, once. `work` may be NULL.
 * Errors:
 *   HBBP_ERROR_INVALID_ARGUMENT  NULL
 *   HBBP_ERROR_INVALID_STATE     as above; no profile was added
 *   HBBP_ERROR_NO_MEMORY         the sum is lost
 * and those of hbbp_work_options; if it was cancelled, the sum is lost. Since 0.1. */
HBBP_API hbbp_status hbbp_merger_finish(hbbp_merger *merger, const hbbp_work_options *work,
                                        hbbp_profile **merged, hbbp_error *error);

/* NULL is allowed. Since 0.1. */
HBBP_API void hbbp_merger_destroy(hbbp_merger *merger);

/* hbbp_selection.parts, combined by |. */
enum { HBBP_SELECT_THREAD = 1u << 0, HBBP_SELECT_SLICE = 1u << 1 };

/* Selects a part of a profile. */
typedef struct hbbp_selection {
  uint32_t struct_size; /* set by the caller */
  uint32_t parts;       /* HBBP_SELECT_*: by which of the fields that follow; at least one */
  uint32_t tid;
  uint32_t slice; /* index of the slice (slices.h) */
} hbbp_selection;

/* Makes a profile of what one thread did, or of what was counted in one slice, or both, with the
 * same lists of sources and slices. Numbers of sources that are not known by slice (lost,
 * throttled, unmapped, what the tracer did) are kept whole, and lists of IBS are empty in a slice.
 * There are no kept bursts in it. `work` may be NULL.
 * Errors:
 *   HBBP_ERROR_NOT_FOUND         no such thread or slice
 *   HBBP_ERROR_INVALID_ARGUMENT  NULL; no part, or one that this library does not know
 *   HBBP_ERROR_NO_MEMORY
 * and those of hbbp_work_options. Any thread. Since 0.1. */
HBBP_API hbbp_status hbbp_profile_select(const hbbp_profile *profile,
                                         const hbbp_selection *selection,
                                         const hbbp_work_options *work, hbbp_profile **selected,
                                         hbbp_error *error);

/* What is in it ----------------------------------------------------------------------------- */

/* Errors:
 *   HBBP_ERROR_INVALID_ARGUMENT  NULL
 * Any thread. Since 0.1. */
HBBP_API hbbp_status hbbp_profile_get_info(const hbbp_profile *profile, hbbp_profile_info *info,
                                           hbbp_error *error);

/* Lists are read as api.h says. Since 0.1. */
HBBP_API size_t hbbp_profile_source_count(const hbbp_profile *profile);
HBBP_API hbbp_status hbbp_profile_copy_sources(const hbbp_profile *profile, size_t first,
                                               size_t count, size_t size, hbbp_source_info *sources,
                                               size_t *copied, hbbp_error *error);
HBBP_API size_t hbbp_profile_thread_count(const hbbp_profile *profile);
HBBP_API hbbp_status hbbp_profile_copy_threads(const hbbp_profile *profile, size_t first,
                                               size_t count, size_t size, hbbp_thread *threads,
                                               size_t *copied, hbbp_error *error);
HBBP_API size_t hbbp_profile_module_count(const hbbp_profile *profile);
HBBP_API hbbp_status hbbp_profile_copy_modules(const hbbp_profile *profile, size_t first,
                                               size_t count, size_t size, hbbp_module *modules,
                                               size_t *copied, hbbp_error *error);

/* What else the source at index `source` counted: why bursts ended or were dropped. Only numbers
 * that are not 0. _count gives 0 if there is no such source. Since 0.1. */
HBBP_API size_t hbbp_profile_counter_count(const hbbp_profile *profile, size_t source);
HBBP_API hbbp_status hbbp_profile_copy_counters(const hbbp_profile *profile, size_t source,
                                                size_t first, size_t count, size_t size,
                                                hbbp_counter *counters, size_t *copied,
                                                hbbp_error *error);

HBBP_EXTERN_C_END

#if defined(HBBP_DISABLE)
#define HBBP_DISABLE_PROFILE
#include "disabled.inc"
#endif

#endif /* HBBP_PROFILE_H_ */
