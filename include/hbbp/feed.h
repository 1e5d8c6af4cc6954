/* feed.h: a profile of what the host observes itself.
 *
 * A host that has perf events of its own, a profiler for instance, hands over what they give. The
 * library then starts no thread, no signal handler and no event. Three ways, which may be mixed:
 * raw records of perf, as they lie in a ring buffer; samples that the host has decoded (instruction
 * pointers, branch stacks, bursts of a tracer, registers of IBS); and events, which say what is
 * mapped where, which processes come and go, and what code a JIT has generated.
 *
 *   hbbp_feed *feed;
 *   hbbp_feed_create(NULL, &feed, NULL);
 *   HBBP_INIT(hbbp_feed_source, source);
 *   source.perf_attr = &attr;
 *   source.perf_attr_size = sizeof(attr);
 *   hbbp_feed_add_source(feed, &source, NULL, NULL);
 *   for (each time) {
 *     for (each ring) hbbp_feed_add_perf_records(feed, records, bytes, &consumed, NULL);
 *     hbbp_feed_end_round(feed, NULL);
 *   }
 *   hbbp_feed_flush(feed, HBBP_FEED_ALL, NULL);
 *   hbbp_feed_snapshot(feed, NULL, &profile, NULL);
 *
 * All functions that take a feed may be called by any thread, also several at once. Feeds have
 * nothing in common. A feed that a session hands to a host's source (source.h) has the same
 * functions.
 *
 * Time. Samples are found in the mappings that there were at their time, so all times must be of
 * one clock (attr.use_clockid, and the same for decoded samples). Records of one CPU come in order;
 * those of several do not. What is added therefore waits until everything earlier must have come,
 * which the host says with _end_round or _flush; what has waited is not counted before. What
 * has time 0 (not known) does not wait, nor does anything with HBBP_FEED_AS_ADDED, which also saves
 * a copy: for hosts with a single ring, or that sort themselves.
 */
#ifndef HBBP_FEED_H_
#define HBBP_FEED_H_

#include "import.h"
#include "profile.h"
#include "samples.h"
#include "status.h"

HBBP_EXTERN_C_BEGIN

typedef int32_t hbbp_feed_order;
enum {
  HBBP_FEED_BY_TIME = 0, /* sorted within rounds */
  HBBP_FEED_AS_ADDED = 1 /* in the order of calls, at once */
};

/* Fields that are 0 or NULL have their defaults. */
typedef struct hbbp_feed_options {
  uint32_t struct_size; /* set by the caller */
  hbbp_feed_order order;
  uint64_t max_waiting_bytes; /* of what waits; beyond it the earlier half is counted, round or not.
                                 0: the default, 64 MiB */
  const char *command;        /* for hbbp_profile_info. Default: empty */
  const char *host;           /* for hbbp_profile_info: the machine that was observed. Default: this
                                 one, whose kernel, processor and PMUs the records then have */
  const char *cpu_id; /* the processor of another host, as perf spells it: "AuthenticAMD,25,17,1".
                         It says what raw events count. Default: not known */
  const char *root;   /* where files are here, as in hbbp_import_options; so the next two. What
                         libhbbp-collect does not find at a path is searched by build ID when the
                         profile is analysed (hbbp_analysis_options.root) */
  const hbbp_moved_file *moved_files;
  size_t moved_file_count;
  uint64_t slice_ns; /* as in hbbp_import_options */
  /* The host gives these, as in hbbp_session_options: */
  hbbp_log log;             /* called inside the functions of the feed */
  void *log_user_data;      /* given to log */
  hbbp_log_level log_level; /* 0: HBBP_LOG_INFO */
  uint32_t reserved;        /* 0 */
  uint64_t max_memory; /* bytes for counts, what waits, names and code; at least HBBP_MIN_MEMORY:
                          never more is used; what finds no room when all else but longer periods is
                          done is dropped and counted. 0: as much as is needed */
  const hbbp_allocator *allocator; /* for counts and what waits. Copied; used until
                                      hbbp_feed_destroy returns. NULL: operator new */
  uint64_t kept_burst_bytes;       /* as in hbbp_session_options */
} hbbp_feed_options;

/* The kind of records that a source HBBP_SOURCE_IBS has. */
typedef int32_t hbbp_ibs_kind;
enum {
  HBBP_IBS_NONE = 0,
  HBBP_IBS_OP = 1,   /* IBS_OP_CTL, IBS_OP_RIP, IBS_OP_DATA, ... */
  HBBP_IBS_FETCH = 2 /* IBS_FETCH_CTL, IBS_FETCH_LINADDR, ... */
};

/* What samples come from. With `perf_attr` they are those in raw records, and one event can make
 * two sources of the profile, of instruction pointers and of branch stacks (hbbp_profile_import
 * says when). Without, they are decoded ones, and it is one source of the profile. */
typedef struct hbbp_feed_source {
  uint32_t struct_size; /* set by the caller */
  /* Sources of raw records have these: */
  uint32_t perf_attr_size;  /* bytes at perf_attr */
  const void *perf_attr;    /* the struct perf_event_attr of any version, as it was opened */
  const uint64_t *perf_ids; /* what the kernel calls the event (PERF_EVENT_IOC_ID), one for each
                               descriptor. Needed where several events share a ring, whose
                               sample_type must then have PERF_SAMPLE_IDENTIFIER or _ID */
  size_t perf_id_count;
  const char *event_name; /* "br_inst_retired.near_taken", "ibs_op//": says what an event counts
                             whose type and config do not, as those of PMUs of another machine. Also
                             of decoded samples. Default: made of the others */
  /* Sources of decoded samples have these; 0 with perf_attr, which says it: */
  hbbp_source_kind kind;   /* HBBP_SOURCE_EBS, _LBR, _IBS or _SWBT */
  hbbp_event event;        /* what a period counts; not AUTO. Its unit is hbbp_source_info.unit */
  hbbp_ibs_kind ibs;       /* of HBBP_SOURCE_IBS */
  uint32_t include_kernel; /* 1: samples of the kernel were asked for */
  uint64_t period;         /* for samples without one */
  uint64_t frequency_hz;   /* instead of a period: samples have their own */
} hbbp_feed_source;

/* A taken branch, as struct perf_branch_entry of Linux, so that the kernel's array can be handed
 * over as it lies. The flags are its bit-fields, the first at bit 0; 0 if nothing is known. Bits 4
 * to 19 are the cycles since the branch before, by which stacks weigh that HBBP_EVENT_CYCLES
 * sampled (hbbp_source_info.extent_in_events). Of fixed size. */
typedef struct hbbp_branch_entry {
  uint64_t from; /* of the branch instruction; 0 with `to` 0: no entry, the stack is cut here */
  uint64_t to;
  uint64_t flags;
} hbbp_branch_entry;

/* A flag of hbbp_branch_entry: the branch was on a path that was not taken after all
 * (PERF_BR_SPEC_WRONG_PATH). It is left out, and the stack is cut there. */
#define HBBP_BRANCH_WRONG_PATH (UINT64_C(1) << 24)

#define HBBP_MAX_FEED_BRANCHES 65536
#define HBBP_MAX_IBS_REGISTERS 32

/* A decoded sample. Branches and registers are refused with a source of another kind. What it
 * points to is read during the call. It weighs period / extent, for each crossing of a block. */
typedef struct hbbp_feed_sample {
  uint64_t time_ns; /* 0: not known */
  uint64_t ip;      /* EBS and IBS */
  uint64_t period;  /* occurrences of the event that it stands for; 0: the source's */
  uint64_t extent;  /* SWBT: occurrences of the event in what the burst covers; 0: its streams, as
                       where bursts start at taken branches. Of other kinds 0: stacks have theirs
                       in their entries, or the streams are it */
  uint32_t pid;
  uint32_t tid;
  const hbbp_branch_entry *branches; /* LBR: all of the stack, the newest branch first; SWBT: the
                                        taken branches of the burst, the oldest first */
  uint32_t branch_count;             /* at most HBBP_MAX_FEED_BRANCHES */
  uint32_t ibs_register_count;       /* at most HBBP_MAX_IBS_REGISTERS */
  const uint64_t *ibs_registers;     /* IBS: raw, in the order of their numbers, as in the kernel's
                                        raw data; NULL: the ip is all that is known */
  uint32_t ibs_capabilities;         /* the word in front of them there */
  uint32_t reserved;                 /* 0 */
} hbbp_feed_sample;

/* Values of hbbp_feed_event.kind, and the fields that each uses besides pid and time_ns. */
typedef int32_t hbbp_feed_event_kind;
enum {
  HBBP_FEED_MAPPING = 1, /* executable memory appeared: address, size; of a file also name (its
                            path), file_offset, and if known device, inode, build_id. It
                            replaces what was there */
  HBBP_FEED_CODE = 2,    /* the process has generated code: address, size, and if known code
                            (size bytes) and name (of the function that it is). It replaces what
                            was there, whose samples stay its own; freed code need not be reported.
                            Without code samples are counted, but not in blocks */
  HBBP_FEED_EXEC = 3,    /* another program, nothing is mapped; if known name, of thread tid */
  HBBP_FEED_FORK = 4,    /* tid of pid was started by parent_tid of parent_pid: a process with its
                            mappings, or, if the pids are the same, a thread */
  HBBP_FEED_EXIT = 5,    /* the process, not only a thread, has ended */
  HBBP_FEED_THREAD_NAME = 6, /* tid, name */
  HBBP_FEED_BUILD_ID = 7,    /* build_id of the file called name, for its mappings without one */
  HBBP_FEED_LOST = 8,        /* `count` samples of `source` were lost */
  HBBP_FEED_THROTTLED = 9,   /* sampling for `source` was held back once */
  HBBP_FEED_DATA = 10 /* the process has a block of memory: address, size, and name (of the block);
                         without a name, the memory was freed. It replaces what was there, whose
                         accesses stay its own: samples of IBS count for it from then on, as data.h
                         says. Children have the blocks of their parents; HBBP_FEED_EXEC and
                         HBBP_FEED_EXIT end them. libhbbp-collect takes and ignores it */
};

/* `pid` of mappings of the kernel. */
#define HBBP_FEED_KERNEL_PID UINT32_MAX

/* Something that happened. Fields that its kind does not use are not looked at. What it points to
 * is read during the call. */
typedef struct hbbp_feed_event {
  hbbp_feed_event_kind kind;
  uint32_t pid;
  uint32_t tid;
  uint32_t parent_pid;
  uint32_t parent_tid;
  uint32_t source;
  uint64_t time_ns; /* 0: since ever, of mappings, code and data; of others: not known */
  uint64_t address;
  uint64_t size; /* bytes */
  uint64_t file_offset;
  uint64_t device; /* makedev */
  uint64_t inode;
  uint64_t count;
  const char *name;
  const uint8_t *build_id;
  const uint8_t *code;
  uint32_t build_id_size; /* bytes, at most 64 */
  uint32_t reserved;      /* 0 */
} hbbp_feed_event;

/* What a feed is doing right now. */
typedef struct hbbp_feed_info {
  uint32_t struct_size; /* set by the caller */
  uint32_t reserved;
  uint64_t samples; /* added so far, counted or waiting */
  uint64_t lost;    /* as records and events say */
  uint64_t throttled;
  uint64_t duration_ns; /* between the first and the last sample that was counted */
  uint64_t waiting;     /* records and samples that wait for the end of a round */
  uint64_t dropped; /* records that could not be used, and samples that there was no memory for */
  uint64_t memory_bytes; /* of max_memory, also without one */
  uint64_t peak_memory_bytes;
} hbbp_feed_info;

/* The time up to which hbbp_feed_flush flushes everything. */
#define HBBP_FEED_ALL UINT64_MAX

typedef struct hbbp_feed hbbp_feed;

/* `options` may be NULL: all defaults. In a child made by fork, the feed has what it had.
 * Errors:
 *   HBBP_ERROR_INVALID_ARGUMENT  feed is NULL; an option out of range; the message says which
 *   HBBP_ERROR_VERSION           an option that this library does not know
 *   HBBP_ERROR_NO_MEMORY
 * Since 0.1. */
HBBP_API hbbp_status hbbp_feed_create(const hbbp_feed_options *options, hbbp_feed **feed,
                                      hbbp_error *error);

/* Snapshots taken from it stay valid. Not while another thread is in one of its functions, nor in
 * its log. NULL is allowed. Since 0.1. */
HBBP_API void hbbp_feed_destroy(hbbp_feed *feed);

/* `index`, which may be NULL, gets its number, by which the functions below call it: 0 for the
 * first. Sources may be added at any time.
 * Errors:
 *   HBBP_ERROR_INVALID_ARGUMENT  which field, and why
 *   HBBP_ERROR_VERSION, HBBP_ERROR_NO_MEMORY
 * Since 0.1. */
HBBP_API hbbp_status hbbp_feed_add_source(hbbp_feed *feed, const hbbp_feed_source *source,
                                          uint32_t *index, hbbp_error *error);

/* More perf_ids of a source, as when a new thread or CPU gets an event. Must come before its
 * records.
 * Errors:
 *   HBBP_ERROR_INVALID_ARGUMENT  no such source; one without perf_attr; NULL
 * Since 0.1. */
HBBP_API hbbp_status hbbp_feed_add_perf_ids(hbbp_feed *feed, uint32_t index,
                                            const uint64_t *perf_ids, size_t perf_id_count,
                                            hbbp_error *error);

/* `bytes` bytes of whole records one after the other, in the byte order of this machine, of all
 * sources with a perf_attr: SAMPLE, MMAP, MMAP2, COMM, FORK, LOST, THROTTLE, ...; others are
 * skipped. A record that goes around the end of its ring has to be put together first. `consumed`,
 * which may be NULL, gets the bytes of whole records; a rest is the beginning of a record, to be
 * added again with what follows. Records of no known event, or too short for their fields, are
 * dropped: hbbp_feed_info.dropped counts them and hbbp_source_info.note describes the first.
 * Errors:
 *   HBBP_ERROR_BAD_FORMAT        there is no record where one should begin; the message has the
 *                                offset, as has `consumed`; what came before was taken
 *   HBBP_ERROR_INVALID_STATE     no source has a perf_attr
 *   HBBP_ERROR_INVALID_ARGUMENT  NULL
 *   HBBP_ERROR_NO_MEMORY
 * Since 0.1. */
HBBP_API hbbp_status hbbp_feed_add_perf_records(hbbp_feed *feed, const void *records, size_t bytes,
                                                size_t *consumed, hbbp_error *error);

/* `count` decoded samples of the source `index`, sample_size = sizeof(hbbp_feed_sample) apart as
 * the caller knows it. All are taken, or none.
 * Errors:
 *   HBBP_ERROR_INVALID_ARGUMENT  which sample, and why; a sample_size that no version has
 *   HBBP_ERROR_VERSION           fields that this library does not know are not 0
 *   HBBP_ERROR_NO_MEMORY
 * Since 0.1. */
HBBP_API hbbp_status hbbp_feed_add_samples(hbbp_feed *feed, uint32_t index,
                                           const hbbp_feed_sample *samples, size_t count,
                                           size_t sample_size, hbbp_error *error);

/* `count` events, event_size = sizeof(hbbp_feed_event) apart as the caller knows it. All are taken,
 * or none. Errors: those of hbbp_feed_add_samples. Since 0.1. */
HBBP_API hbbp_status hbbp_feed_add_events(hbbp_feed *feed, const hbbp_feed_event *events,
                                          size_t count, size_t event_size, hbbp_error *error);

/* Reads what /proc/PID shows of a process, 0 the calling one, as events: what executable memory it
 * has (HBBP_FEED_MAPPING), and the names of its threads (HBBP_FEED_THREAD_NAME), at time 0. For a
 * host that begins to observe a process which runs already: first its events are opened, then this
 * is called, and then come its samples; what it maps from then on comes in records or events.
 * Errors:
 *   HBBP_ERROR_NOT_FOUND         no such process, or one without memory: it has ended, or is of the
 *                                kernel
 *   HBBP_ERROR_PERMISSION        it is another user's, or its memory is protected (ptrace)
 *   HBBP_ERROR_UNSUPPORTED       /proc is not mounted
 *   HBBP_ERROR_INVALID_ARGUMENT  NULL; not a process id
 *   HBBP_ERROR_IO, HBBP_ERROR_NO_MEMORY
 * Since 0.1. */
HBBP_API hbbp_status hbbp_feed_process(hbbp_feed *feed, uint32_t pid, hbbp_error *error);

/* Every ring was emptied once since the last round. Counts what had come by the end of the round
 * before that: what is in a ring now is later than anything that was in another one then. Records
 * PERF_RECORD_FINISHED_ROUND, which perf writes, do the same.
 * Errors:
 *   HBBP_ERROR_INVALID_ARGUMENT  NULL
 * Since 0.1. */
HBBP_API hbbp_status hbbp_feed_end_round(hbbp_feed *feed, hbbp_error *error);

/* Everything that happened up to `up_to_ns` was added: counts what waits up to there. HBBP_FEED_ALL
 * at the end. What comes later with an earlier time is counted all the same, but in what is mapped
 * then; hbbp_source_info.note says how often that was.
 * Errors:
 *   HBBP_ERROR_INVALID_ARGUMENT  NULL
 * Since 0.1. */
HBBP_API hbbp_status hbbp_feed_flush(hbbp_feed *feed, uint64_t up_to_ns, hbbp_error *error);

/* All that was counted so far, as an immutable profile; not what waits. `work` may be NULL; its
 * progress must not use the feed, and its flag also cancels the wait for another thread that is in
 * the feed.
 * Errors:
 *   HBBP_ERROR_INVALID_ARGUMENT  NULL
 *   HBBP_ERROR_INVALID_STATE     it is the feed of a session, which has the snapshot
 *   HBBP_ERROR_NO_MEMORY
 * and those of hbbp_work_options. Since 0.1. */
HBBP_API hbbp_status hbbp_feed_snapshot(hbbp_feed *feed, const hbbp_work_options *work,
                                        hbbp_profile **profile, hbbp_error *error);

/* Errors:
 *   HBBP_ERROR_INVALID_ARGUMENT  NULL
 *   HBBP_ERROR_INVALID_STATE     it is the feed of a session
 * Since 0.1. */
HBBP_API hbbp_status hbbp_feed_get_info(hbbp_feed *feed, hbbp_feed_info *info, hbbp_error *error);

HBBP_EXTERN_C_END

#if defined(HBBP_DISABLE)
#define HBBP_DISABLE_FEED
#include "disabled.inc"
#endif

#endif /* HBBP_FEED_H_ */
