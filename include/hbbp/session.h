/* session.h: profile the calling process. (What the host observes itself: source.h and feed.h.)
 *
 *   hbbp_session *session;
 *   hbbp_session_create(NULL, &session, NULL);
 *   hbbp_session_start(session, NULL);
 *   work();
 *   hbbp_session_stop(session, NULL);
 *   hbbp_profile *profile;
 *   hbbp_session_snapshot(session, NULL, &profile, NULL);
 *
 * hbbp_profile_call does all of that around one function.
 */
#ifndef HBBP_SESSION_H_
#define HBBP_SESSION_H_

#include "host.h"
#include "profile.h"
#include "samples.h"
#include "slices.h"
#include "status.h"

HBBP_EXTERN_C_BEGIN

/* The values that whole bursts may have of instructions, as far as they are known: the divisor of
   div and idiv, and the registers of arguments as they are before calls and indirect jumps. */
enum {
  HBBP_VALUE_DIVISOR = 1,
  HBBP_VALUE_RDI = 2,
  HBBP_VALUE_RSI = 4,
  HBBP_VALUE_RDX = 8,
  HBBP_VALUE_RCX = 16,
  HBBP_VALUE_R8 = 32,
  HBBP_VALUE_R9 = 64
};

typedef struct hbbp_session_options {
  uint32_t struct_size;    /* set by the caller */
  hbbp_source_kind source; /* 0 or HBBP_SOURCE_AUTO: LBR, else SWBT, which needs signal handlers,
                           and no debugger (ptrace) at the call of hbbp_session_create, but no perf
                           events; else EBS. HBBP_SOURCE_PERF: LBR, else EBS, for hosts that want no
                           signal handlers. HBBP_SOURCE_EBS; HBBP_SOURCE_LBR, which is EBS at the
                           same time; HBBP_SOURCE_IBS; HBBP_SOURCE_SWBT; HBBP_SOURCE_EBS_AND_SWBT:
                           both at once; HBBP_SOURCE_EXTERNAL: only those of
                           hbbp_session_add_source. The notes of the profile's sources say what was
                           unavailable and why */
  hbbp_event event;
  hbbp_period_mode period_mode;
  uint64_t period;         /* in occurrences of the event (ns for clocks). 0: the default, which
                              keeps the overhead below 1 % */
  uint64_t frequency_hz;   /* samples a second of CPU time, instead of a period; 0: use period.
                              Both set, or a period_mode other than PRIME where the kernel chooses
                              the periods: HBBP_ERROR_INVALID_ARGUMENT. HBBP_SOURCE_SWBT takes the
                              frequency of a clock, which is that of HBBP_EVENT_AUTO then */
  uint32_t include_kernel; /* 1: count kernel code too; needs permission */
  uint32_t buffer_bytes;   /* of each CPU's ring buffer; rounded up to a power of two of pages;
                              0: the default, 64 to 256 KiB by the rate of samples */
  /* HBBP_SOURCE_SWBT, alone or with EBS, has these; HBBP_SOURCE_AUTO (or 0) with one of them is
     SWBT; 0 for other sources: */
  hbbp_trace_mode trace_mode;
  uint32_t burst_branches; /* taken branches a burst, at most HBBP_MAX_BURST_BRANCHES; 0: the
                              default of the mode, which look-ahead has in instructions (6000)
                              where the event is instructions or a clock */
  /* Hardware events have these: */
  uint64_t branch_period;    /* taken branches between branch stacks; 0: the default. Of
                                HBBP_SOURCE_LBR, _PERF and _AUTO; 0 for others */
  uint64_t expected_seconds; /* how long the program will run, from which default periods follow;
                                0: not known. Below 30 s 1,000,037 instructions and 100,003 taken
                                branches, below 3 minutes (and if not known) ten times, else a
                                hundred times that: Nowak et al., "Low-Overhead Dynamic
                                Instruction Mix Generation using Hybrid Basic Block Profiling",
                                Table 4 */
  uint64_t pid; /* 0: the calling process; else another one, which the caller may trace (ptrace) and
                   whose children are not followed. It need not exist to the end. HBBP_SOURCE_SWBT
                   stops its threads for its bursts; HBBP_SOURCE_AUTO does not trace it */
  /* Any event of the kernel or the PMU, for samples and for bursts of HBBP_SOURCE_SWBT; `event`
     says what it counts, as hbbp_event_find does, which knows codes. With HBBP_SOURCE_IBS "ibs_op"
     (the default), "ibs_fetch" or "ibs_op,ibs_fetch", and the others 0: */
  const char *event_name; /* copied; shown in the profile. NULL: `event` says it all */
  uint64_t event_type;    /* as in perf_event_attr */
  uint64_t event_config;
  hbbp_ebs_method ebs_method; /* HBBP_EBS_IP_PLUS_ONE takes a branch stack with every sample of
                                 HBBP_SOURCE_EBS and HBBP_SOURCE_LBR; HBBP_EBS_AUTO is PLAIN */
  uint32_t imprecise;         /* 1: no precise events (PEBS) for samples, even if there are some */
  uint64_t slice_ns;          /* keep counts by slices of time of this width (slices.h), at least
                                 HBBP_MIN_SLICE_NS; 0: do not. Slices become twice as wide
                                 whenever there would be more than HBBP_MAX_SLICES of them, or too
                                 many counts */
  /* The host gives these (host.h): */
  hbbp_log log;             /* NULL: what there is to say is only in the notes of the profile */
  void *log_user_data;      /* given to log */
  hbbp_log_level log_level; /* the least urgent that is wanted; 0: HBBP_LOG_INFO */
  /* Profiles these threads only, and none that they start: ids as gettid gives them. Copied. 0 and
     NULL: every thread of the process. */
  uint32_t thread_count;
  const uint32_t *threads;
  /* Budgets, which the session keeps by making its periods longer; each sample counts by the period
     that it was taken with, so counts stay right. What was done is in the notes of the profile's
     sources and in hbbp_session_info. docs/guide/embedding.md says what is measured. */
  double max_overhead; /* of the CPU time of what is profiled: 0.01 is 1 %, at most 1; 0: what the
                          periods ask for. Context switches that counters of the PMU make longer are
                          in it, which periods do not save: if they take more than half of it, it is
                          exceeded */
  uint64_t max_memory; /* bytes for counts, buffers, names and copied code, at least
                          HBBP_MIN_MEMORY: never more is used; what finds no room when all else is
                          done is dropped and counted. 0: as much as is needed */
  const hbbp_allocator *allocator; /* for counts. Copied; used until hbbp_session_destroy returns.
                                      NULL: operator new */
  /* 1: the session starts no thread, and the host calls hbbp_session_drain again and again. A
     program with one thread keeps one: glibc's malloc and stdio are faster in such programs, and
     their profile is what it is without a session. */
  uint32_t drained_by_host;
  /* 1: whole bursts have the addresses, too, that their instructions accessed, for productions
     (hbbp probe). Of HBBP_SOURCE_SWBT with HBBP_TRACE_LOOKAHEAD, and with kept_burst_bytes, of
     which most is for them. Bursts then take about a third more time */
  uint32_t keep_accesses;
  /* Keeps whole bursts and branch stacks, with their branches in the order in which they were
     taken, for hbbp_export as "brstack": bytes for them, at least HBBP_MIN_KEPT_BURST_BYTES, and of
     max_memory at most an eighth. The first bursts are kept, until there is no room; all are
     counted. 0: none are kept, as libhbbp-collect cannot */
  uint64_t kept_burst_bytes;
  /* A sum of HBBP_VALUE_*: whole bursts have these values, too, for productions. With the same
     sources and options as keep_accesses */
  uint32_t keep_values;
  /* 1: samples begin when the process executes a program (exec), as for a child of the caller that
     waits until then; there are none if it has done so before, or never does. When the session is
     started again, they begin at once. Of another process (`pid`), and not with
     HBBP_SOURCE_EXTERNAL */
  uint32_t enable_on_exec;
} hbbp_session_options;

/* What a session is doing right now. */
typedef struct hbbp_session_info {
  uint32_t struct_size; /* set by the caller */
  uint32_t running;     /* 1 between start and stop */
  uint64_t samples;     /* collected so far; bursts, with HBBP_SOURCE_SWBT */
  uint64_t lost;        /* samples that the kernel had no room for */
  uint64_t throttled;   /* times that the kernel held sampling back */
  uint64_t duration_ns; /* between start and stop, or until now; all runs together */
  uint64_t dropped;     /* samples that there was no memory for */
  /* CPU time is that of all runs together: */
  uint64_t cpu_ns;        /* of what is profiled */
  uint64_t overhead_ns;   /* that sampling took, as far as the session knows */
  double recent_overhead; /* overhead_ns / cpu_ns of the last 50 ms or more of CPU time */
  double period_factor;   /* by which periods are longer than those asked for; 1 without a budget */
  uint64_t period_changes;
  uint64_t memory_bytes; /* of max_memory, also without one */
  uint64_t peak_memory_bytes;
} hbbp_session_info;

typedef struct hbbp_session hbbp_session;

/* `options` may be NULL: all defaults. Opens nothing yet.
 * Errors:
 *   HBBP_ERROR_INVALID_ARGUMENT  session is NULL; an option out of range; the message says which
 *   HBBP_ERROR_VERSION           an option that this library does not know
 *   HBBP_ERROR_UNSUPPORTED       branch tracing, or the keeping of bursts, is not in this library
 *                                (libhbbp-collect)
 *   HBBP_ERROR_NO_MEMORY
 * Any thread. Since 0.1. */
HBBP_API hbbp_status hbbp_session_create(const hbbp_session_options *options,
                                         hbbp_session **session, hbbp_error *error);

/* Stops it if needed. Snapshots taken from it stay valid. Not while another thread is in one of
 * its functions. In its log and in the functions of its sources it returns at once, and the session
 * ends in another thread: a source is gone when its `destroy` was called. NULL is allowed. Any
 * thread. Since 0.1. */
HBBP_API void hbbp_session_destroy(hbbp_session *session);

/* Samples every thread of the process, those that exist and those that start later, until stop.
 * Starts one thread of its own, with all signals blocked, which is not sampled; none with
 * hbbp_session_options.drained_by_host. A stopped session may be started again; its counts go on.
 * In a child made by fork the session is stopped and holds no samples. Any thread; of several at
 * once, one starts it.
 * Errors:
 *   HBBP_ERROR_INVALID_STATE  it runs, or its log or a host's source called; HBBP_SOURCE_EXTERNAL,
 *                             and no source was added
 *   HBBP_ERROR_PERMISSION     perf_event_open refused; the message names the setting, and a source
 *                             that works here if there is one
 *   HBBP_ERROR_INVALID_ARGUMENT  HBBP_SOURCE_SWBT, and frequency_hz of another event than a clock
 *   HBBP_ERROR_UNSUPPORTED    no such event here, or it happens in the kernel, which is left out;
 *                             no /proc
 *   HBBP_ERROR_BUSY           out of descriptors, threads, memory locks or counters; another
 *                             session of the process traces branches
 *   HBBP_ERROR_NOT_FOUND      no such thread or process
 *   HBBP_ERROR_NO_MEMORY
 * and what the `start` of a host's source returns, with its name in the message. Since 0.1. */
HBBP_API hbbp_status hbbp_session_start(hbbp_session *session, hbbp_error *error);

/* Does once, in the calling thread, what the thread of a session without drained_by_host does again
 * and again: collects what is in the buffers, looks for new threads and mappings, calls the `drain`
 * of the host's sources, keeps the budgets, and gives the log what there is to say. *next_ms, if
 * next_ms is not NULL, is set to the milliseconds until it should be called again: 1 to 1000. Later
 * is allowed; what finds no room in the buffers meanwhile is dropped and counted
 * (hbbp_session_info), and threads that start are found late where the notes of the source say so.
 * Snapshot, info and stop collect, too. Its time is in overhead_ns; its code is sampled as any code
 * of the calling thread.
 * Errors:
 *   HBBP_ERROR_INVALID_ARGUMENT  session is NULL
 *   HBBP_ERROR_INVALID_STATE     no drained_by_host; it does not run, or its log or a host's source
 *                                called
 *   HBBP_ERROR_NO_MEMORY         samples are missing
 * Any thread; of several at once, one after the other. Since 0.1. */
HBBP_API hbbp_status hbbp_session_drain(hbbp_session *session, uint32_t *next_ms,
                                        hbbp_error *error);

/* Collects what is in the buffers and closes events and buffers: no thread is left, and of
 * descriptors only those of files whose code has samples, for blocks to be found in what ran even
 * if it is replaced. They have high numbers, are closed by exec, and go with the session and its
 * profiles. Any thread; of several at once, one stops it.
 * Errors:
 *   HBBP_ERROR_INVALID_STATE  it does not run, or its log or a host's source called
 * and the first failure of the `stop` of a host's source, which is also logged and in the notes of
 * its sources: the session is stopped nevertheless. Since 0.1. */
HBBP_API hbbp_status hbbp_session_stop(hbbp_session *session, hbbp_error *error);

/* All that was counted so far, as an immutable profile. Allowed while the session runs, which
 * goes on undisturbed, from any thread. Cheap: no code is read. `work`, which may be NULL, is worth
 * it with millions of counts; its progress must not use the session, and its flag also cancels the
 * wait for another thread that is in the session.
 * Errors:
 *   HBBP_ERROR_INVALID_ARGUMENT  NULL
 *   HBBP_ERROR_NO_MEMORY
 * and those of hbbp_work_options. Any thread. Since 0.1. */
HBBP_API hbbp_status hbbp_session_snapshot(hbbp_session *session, const hbbp_work_options *work,
                                           hbbp_profile **profile, hbbp_error *error);

/* Errors:
 *   HBBP_ERROR_INVALID_ARGUMENT  NULL
 * Any thread. Since 0.1. */
HBBP_API hbbp_status hbbp_session_get_info(hbbp_session *session, hbbp_session_info *info,
                                           hbbp_error *error);

/* A function to be profiled. */
typedef void (*hbbp_call)(void *user_data);

/* Makes a session, starts it, calls `call` with `user_data`, stops the session, and gives a
 * snapshot of it: a profile of every thread of the process during the call. `call` runs in the
 * calling thread, once if the session starts and else not at all; an exception that it throws ends
 * the session and goes on to the caller. `options` may be NULL.
 * Errors: those of hbbp_session_create, _start and _snapshot. Any thread. Since 0.1. */
HBBP_API hbbp_status hbbp_profile_call(hbbp_call call, void *user_data,
                                       const hbbp_session_options *options, hbbp_profile **profile,
                                       hbbp_error *error);

HBBP_EXTERN_C_END

#if defined(HBBP_DISABLE)
#define HBBP_DISABLE_SESSION
#include "disabled.inc"
#endif

#endif /* HBBP_SESSION_H_ */
