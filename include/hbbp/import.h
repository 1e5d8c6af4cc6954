/* import.h: profiles from what other tools recorded. */
#ifndef HBBP_IMPORT_H_
#define HBBP_IMPORT_H_

#include "host.h"
#include "profile.h"
#include "slices.h"

HBBP_EXTERN_C_BEGIN

/* A file that is not where it was when it was recorded. */
typedef struct hbbp_moved_file {
  const char *recorded; /* its path in the recording, or the last part of that */
  const char *here;     /* the file */
} hbbp_moved_file;

/* Fields that are 0 or NULL have their defaults. */
typedef struct hbbp_import_options {
  uint32_t struct_size;      /* set by the caller */
  uint32_t moved_file_count; /* of moved_files */
  const char *root;          /* directory that has the files of the recorded machine (perf calls it
                                symfs), at their paths or anywhere with their build IDs; default:
                                none, they are where they were there. What is not found is also
                                searched by build ID in perf's cache: buildid.dir of its
                                configuration, or ~/.debug */
  const hbbp_moved_file *moved_files;
  const char *binary; /* for text without mappings, of `perf script` or added up for BOLT: the one
                         file whose addresses it has, where it names none by build ID */
  hbbp_ebs_method ebs_method; /* of samples that come with branch stacks */
  uint32_t reserved;          /* 0 */
  uint64_t slice_ns; /* as in hbbp_session_options, by the times of samples; slices begin with the
                        first one. Text of `perf script` has no times */
  /* The host gives these, as in hbbp_session_options: */
  hbbp_log log;             /* called inside hbbp_profile_import */
  void *log_user_data;      /* given to log */
  hbbp_log_level log_level; /* 0: HBBP_LOG_INFO */
  uint32_t reserved2;       /* 0 */
  uint64_t max_memory; /* bytes for counts, records that wait, names and code while it is read, not
                          for the profile; at least HBBP_MIN_MEMORY: never more is used. Samples
                          that find no room are dropped: the notes of the profile's sources and
                          their counter "no-memory" say how many. 0: as much as is needed */
  const hbbp_allocator *allocator; /* for counts and records that wait; not used after the call.
                                      NULL: operator new */
  uint64_t kept_burst_bytes;       /* as in hbbp_session_options */
} hbbp_import_options;

/* Reads a recording of `perf record`, of any version and architecture of the recording perf, whose
 * samples are of x86-64 code; or text of `perf script` with branch stacks, as llvm-profgen and BOLT
 * take it (-F ip,brstack --show-mmap-events), which has no periods: a sample counts as one event.
 * It has them with the field period (-F comm,pid,tid,time,period,event,ip,brstack), and a source
 * for each event; or text that was added up for BOLT (perf2bolt -pa: B, F, f, r, T, R, S, E), whose
 * counts are shares and whose errors are upper bounds. Sources of the profile: for each event with
 * branch stacks of all kinds of branches one of HBBP_SOURCE_LBR; for each event one of
 * HBBP_SOURCE_EBS (HBBP_SOURCE_IBS for ibs_op and ibs_fetch), but not for taken branches with
 * stacks. What of a damaged recording was dropped is said in hbbp_source_info.note. `path` may be a
 * pipe, and "-" is standard input. `options` may be NULL. Code is read from the files of the
 * recording when blocks are asked for. Generated code is that of jitdumps; functions without code
 * are those of perf maps, which lie where root and moved_files lead from /tmp/perf-PID.map, or
 * there, if the host name of the recording is this machine's. Maps of other users are not believed,
 * which is noted as well. Progress of `work`, which may be NULL, is in bytes of the recording.
 * Errors:
 *   HBBP_ERROR_NOT_FOUND, HBBP_ERROR_PERMISSION, HBBP_ERROR_IO  of the file
 *   HBBP_ERROR_BAD_FORMAT        it is not a recording, or nothing of it can be read; the message
 *                                says where
 *   HBBP_ERROR_UNSUPPORTED       a directory of perf record --threads; compressed records, and no
 *                                libzstd is installed
 *   HBBP_ERROR_INVALID_ARGUMENT  NULL; an option out of range
 *   HBBP_ERROR_NO_MEMORY         none at all, or not for a single sample
 * and those of hbbp_work_options. Any thread. Since 0.1. */
HBBP_API hbbp_status hbbp_profile_import(const char *path, const hbbp_import_options *options,
                                         const hbbp_work_options *work, hbbp_profile **profile,
                                         hbbp_error *error);

HBBP_EXTERN_C_END

#if defined(HBBP_DISABLE)
#define HBBP_DISABLE_IMPORT
#include "disabled.inc"
#endif

#endif /* HBBP_IMPORT_H_ */
