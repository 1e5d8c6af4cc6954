/* profile.h: how often each basic block ran.
 *
 * A profile is immutable. Its lists (modules, threads, sources, blocks, functions, branches) are
 * read by index. Addresses of modules are those of the ELF file, as objdump prints them, whatever
 * address the module was loaded at.
 *
 * Block counts are estimates. With EBS a block of l instructions in which s samples fell, each
 * worth P events, ran c = P * s / l times, with standard error P * sqrt(s) / l (Nowak et al.,
 * "Hybrid Basic Block Profiling"; samples are Poisson). With a clock as the event, P is in
 * nanoseconds and the library assumes one instruction a nanosecond: counts are then proportional
 * to time and exact only up to a factor. hbbp_source_info.unit says which holds.
 *
 * With SWBT a burst of N taken branches has N - 1 streams, the code between one branch and the
 * next, and each adds P / (N - 1) to every block that it crosses. Bursts are independent, the
 * streams of a burst are not, and standard errors allow for that. Where both sources saw a module,
 * SWBT counts its blocks and EBS does not: counts of sources are never added to each other.
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
  HBBP_MODULE_ANONYMOUS = 2, /* generated code, or code of a file that is no ELF */
  HBBP_MODULE_KERNEL = 3
};

/* How the code of a module was found when blocks were asked for. */
typedef int32_t hbbp_module_code;
enum {
  HBBP_MODULE_CODE_FILE = 0,       /* in its file, whose build ID is the one that ran */
  HBBP_MODULE_CODE_PROFILE = 1,    /* stored in the profile */
  HBBP_MODULE_CODE_MISSING = 2,    /* not found: its samples are unexplained */
  HBBP_MODULE_CODE_MISMATCH = 3,   /* its file was replaced by another one since: as MISSING */
  HBBP_MODULE_CODE_NOT_SOUGHT = 4, /* it has no samples */
  HBBP_MODULE_CODE_CORE = 5 /* of a kernel: in /proc/kcore or a core file, else in its vmlinux */
};

typedef struct hbbp_module {
  uint32_t struct_size; /* set by the caller */
  hbbp_module_kind kind;
  hbbp_module_code code;
  uint32_t build_id_size; /* bytes; 0 if there is none */
  const uint8_t *build_id;
  const char *path;       /* as mapped: "/usr/bin/lua5.4", "[vdso]", "[kernel]" */
  const char *problem;    /* why the code is missing, one line; else empty */
  uint64_t samples;       /* EBS: in it; SWBT: taken branches into it */
  uint64_t patched_bytes; /* of a kernel whose vmlinux is there too: bytes of the functions with
                             samples that the kernel had rewritten in memory */
} hbbp_module;

/* Files of the kernel that was profiled. What is NULL is looked for where it usually is, and taken
 * only if it is of that kernel (and boot, as far as it matters). */
typedef struct hbbp_kernel_files {
  uint32_t struct_size; /* set by the caller */
  uint32_t reserved;
  const char *vmlinux; /* the static kernel, an ELF file with symbols */
  const char *kcore; /* its memory, a file of the ELF core format: a copy of /proc/kcore, a dump */
  const char *kallsyms; /* its symbols, a copy of /proc/kallsyms or a System.map */
} hbbp_kernel_files;

typedef struct hbbp_thread {
  uint32_t struct_size; /* set by the caller */
  uint32_t pid;
  uint32_t tid;
  uint32_t reserved;
  const char *name; /* as in /proc/PID/task/TID/comm when it was first seen */
  uint64_t samples; /* SWBT: bursts */
} hbbp_thread;

typedef int32_t hbbp_unit;
enum {
  HBBP_UNIT_INSTRUCTIONS = 0,   /* a period counts instructions: block counts are absolute */
  HBBP_UNIT_NANOSECONDS = 1,    /* a period counts time: block counts are up to a factor */
  HBBP_UNIT_CYCLES = 2,         /* as NANOSECONDS */
  HBBP_UNIT_TAKEN_BRANCHES = 3, /* a period counts taken branches: block counts are absolute */
  HBBP_UNIT_EVENTS = 4,         /* as NANOSECONDS; also instructions between bursts of SWBT that
                                   were not weighed by their instructions (older profiles) */
  HBBP_UNIT_UOPS = 5            /* a period counts dispatched micro-operations: block counts are
                                   absolute, as far as those of each instruction can be told */
};

/* Which instruction a sample counts for. */
typedef int32_t hbbp_ebs_method;
enum {
  HBBP_EBS_AUTO = 0,       /* IP_PLUS_ONE for precise events with branch stacks, else PLAIN */
  HBBP_EBS_PLAIN = 1,      /* the one at its instruction pointer */
  HBBP_EBS_IP_PLUS_ONE = 2 /* the one that was executed before that, as far as the newest branch of
                              the sample tells; not where the sample says that its IP is exact */
};

typedef struct hbbp_source_info {
  uint32_t struct_size; /* set by the caller */
  hbbp_source source;
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
  /* Of HBBP_SOURCE_SWBT, as its tracer counted; 0 and empty for other sources: */
  uint64_t bursts;
  uint64_t taken_branches;
  uint64_t breakpoints;            /* that were hit */
  uint64_t lookahead_instructions; /* interpreted */
  uint64_t decoded_instructions;   /* decoded, because they were not known yet */
  uint64_t handler_ns;             /* in signal handlers */
  uint64_t verified_branches;      /* HBBP_TRACE_VERIFY: compared with a native walk */
  uint64_t disagreements;          /* of these, wrong; those that a change of memory, of code or of
                                      the way of the thread explains are counters of their own
                                      ("disagreement-...", hbbp_profile_counter_at) */
  const char *mode; /* "lookahead", "breakpoint", "verify"; after a merge of different ones, all of
                       them, with "; " in between */
  const char *rung; /* what it sampled and stepped with, and why nothing better; as mode */
  const char *event_name; /* where `event` does not say it all: as the recording, the vendor or
                             libpfm4 spells it, with perf's modifiers; else empty */
  /* How instruction pointers came about: */
  uint32_t precise_ip;        /* of its perf_event_attr: 0 (any skid) to 3 (none) */
  hbbp_ebs_method ebs_method; /* HBBP_EBS_PLAIN or HBBP_EBS_IP_PLUS_ONE */
  uint64_t smallest_period;   /* of the samples of an imported source; 0: it has none */
  uint64_t largest_period;
} hbbp_source_info;

/* A number and what it counts. */
typedef struct hbbp_counter {
  uint32_t struct_size; /* set by the caller */
  uint32_t reserved;
  const char *name; /* stable: "system-call" */
  uint64_t value;
} hbbp_counter;

/* A taken branch, by all threads and sources. Only SWBT has them. */
typedef struct hbbp_branch {
  uint32_t struct_size; /* set by the caller */
  uint32_t from_module; /* HBBP_NO_INDEX: in no known mapping, as with to_module */
  uint64_t from;        /* of the branch instruction, in its module; HBBP_NO_ADDRESS: the module is
                           not known, or its code is missing; as with `to` */
  uint64_t to;
  uint32_t to_module;
  uint32_t reserved;
  uint64_t samples; /* times that it was observed */
  double count;     /* executions, on the scale of hbbp_block.count; 0 if it was only ever the last
                       branch of a burst, which no stream follows */
  /* Of hardware branch stacks: how often it was the oldest entry, and how often it would have been
   * if each place in a stack were as likely. */
  uint64_t oldest;
  double oldest_expected;
} hbbp_branch;

/* hbbp_block.flags */
enum {
  /* A branch of the block was the oldest entry of branch stacks far more often than that can be by
   * chance: bias_ratio >= HBBP_BIAS_RATIO and bias_chance <= HBBP_BIAS_CHANCE. Its count by LBR is
   * suspect. Other thresholds: compare the two fields with them. */
  HBBP_BLOCK_BIASED = 1
};
#define HBBP_BIAS_RATIO 2.0
#define HBBP_BIAS_CHANCE 1e-6

typedef struct hbbp_block {
  uint32_t struct_size; /* set by the caller */
  uint32_t module;      /* index of its module */
  uint64_t start;       /* address in the module */
  uint64_t end;         /* exclusive */
  uint32_t instruction_count;
  uint32_t function;     /* index of its function; HBBP_NO_INDEX for a block found by
                            hbbp_profile_find_block in a function without samples */
  hbbp_source source;    /* whose count was used; HBBP_SOURCE_NONE if it was never seen */
  uint32_t flags;        /* HBBP_BLOCK_* */
  double count;          /* executions */
  double standard_error; /* of count */
  uint64_t samples;      /* that the count rests on; SWBT: streams across it */
  double bias_ratio;  /* how often its branches were the oldest of their branch stacks, by how often
                         they would have been if each place were as likely; 0: in no stack */
  double bias_chance; /* of that or more, at most, if each place is as likely; 1: not more */
} hbbp_block;

typedef struct hbbp_function {
  uint32_t struct_size; /* set by the caller */
  uint32_t module;      /* index of its module */
  uint64_t start;
  uint64_t end;        /* exclusive */
  const char *name;    /* as the symbol table has it (mangled); "0x1234" if it has none */
  double instructions; /* executed in it */
  double standard_error;
  uint64_t samples; /* EBS: in it; SWBT: streams that came into it */
} hbbp_function;

/* One instruction of a module. */
typedef struct hbbp_instruction {
  uint32_t struct_size; /* set by the caller */
  uint32_t length;      /* bytes */
  uint64_t address;
  const char *mnemonic; /* Intel's, lower case, without prefixes; static storage */
} hbbp_instruction;

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
} hbbp_profile_info;

/* Profiles ------------------------------------------------------------------------------- */

/* Reads a profile file. Errors: HBBP_ERROR_NOT_FOUND, HBBP_ERROR_PERMISSION, HBBP_ERROR_IO;
 * HBBP_ERROR_BAD_FORMAT (truncated, damaged or no profile; the message says where),
 * HBBP_ERROR_VERSION (made by a newer library). Any thread. Since 0.1. */
HBBP_API hbbp_status hbbp_profile_load(const char *path, hbbp_profile **profile, hbbp_error *error);

/* Names files of the kernel that was profiled, which may be of another machine. To be called before
 * anything that needs code, and while no other thread uses the profile; several calls replace each
 * other. A profile without kernel samples takes no notice.
 * Errors: HBBP_ERROR_NOT_FOUND, HBBP_ERROR_PERMISSION (the message says which), HBBP_ERROR_IO,
 * HBBP_ERROR_BAD_FORMAT for a file; HBBP_ERROR_MISMATCH (a file is of another kernel or boot),
 * HBBP_ERROR_INVALID_STATE (code was sought before, if only to save the profile),
 * HBBP_ERROR_INVALID_ARGUMENT. Since 0.1. */
HBBP_API hbbp_status hbbp_profile_set_kernel(hbbp_profile *profile, const hbbp_kernel_files *files,
                                             hbbp_error *error);

/* Finds and counts the blocks of a profile now, in this thread, with progress (in no particular
 * unit) and a flag that calls it off. Without it, the first function that needs blocks does so, as
 * long as that takes: seconds for a recording of a large program. Called off, the profile is as
 * it was, and may be asked again. `work` may be NULL. What was found before is kept: then there is
 * nothing to do. Errors: HBBP_ERROR_CANCELLED, HBBP_ERROR_INVALID_ARGUMENT (profile is NULL),
 * HBBP_ERROR_VERSION, HBBP_ERROR_NO_MEMORY. Any thread. Since 0.1. */
HBBP_API hbbp_status hbbp_profile_resolve(const hbbp_profile *profile,
                                          const hbbp_work_options *work, hbbp_error *error);

/* Replaces `path` atomically. Code that could not be read again from a file later (vdso,
 * generated code, deleted files, memory of the kernel) is stored with the counts, as are the names
 * of kernel functions. The new file is its owner's alone (mode 0600). Errors: HBBP_ERROR_IO,
 * HBBP_ERROR_PERMISSION, HBBP_ERROR_NOT_FOUND (no such folder). Any thread. Since 0.1. */
HBBP_API hbbp_status hbbp_profile_save(const hbbp_profile *profile, const char *path,
                                       hbbp_error *error);

/* The sum of `count` >= 1 profiles. Modules are the same if their build IDs are (or, without
 * build IDs, their paths). Sources are added up where kind, event and period agree and kept apart
 * otherwise, but count a block together if they are of one kind; threads are the same if pid and
 * tid are. Errors: HBBP_ERROR_INVALID_ARGUMENT, HBBP_ERROR_NO_MEMORY. Any thread. Since 0.1. */
HBBP_API hbbp_status hbbp_profile_merge(const hbbp_profile *const *profiles, size_t count,
                                        hbbp_profile **merged, hbbp_error *error);

/* What thread `tid` did, as a profile of its own. What was set of `profile` (estimator, kernel
 * files, debug information) is set of it, too, but neither progress nor flag of
 * hbbp_source_options. Errors: HBBP_ERROR_NOT_FOUND (no such thread). Any thread. Since 0.1. */
HBBP_API hbbp_status hbbp_profile_select_thread(const hbbp_profile *profile, uint32_t tid,
                                                hbbp_profile **selected, hbbp_error *error);

/* NULL is allowed. Since 0.1. */
HBBP_API void hbbp_profile_destroy(hbbp_profile *profile);

/* Errors: HBBP_ERROR_INVALID_ARGUMENT. Any thread. Since 0.1. */
HBBP_API hbbp_status hbbp_profile_get_info(const hbbp_profile *profile, hbbp_profile_info *info,
                                           hbbp_error *error);

/* Lists -----------------------------------------------------------------------------------
 * Every _count gives 0 for NULL. Every _at gives HBBP_ERROR_NOT_FOUND for an index that is not
 * below the count and HBBP_ERROR_INVALID_ARGUMENT for NULL. Any thread. Since 0.1.
 *
 * Blocks, functions, branches and unexplained samples need the code of the modules: the first call
 * that asks for one of them reads and decodes the functions that have samples, once, which takes
 * some tens of milliseconds for a large program. What fails there is told by module (code,
 * problem), never by an error. */
HBBP_API size_t hbbp_profile_source_count(const hbbp_profile *profile);
HBBP_API hbbp_status hbbp_profile_source_at(const hbbp_profile *profile, size_t index,
                                            hbbp_source_info *source, hbbp_error *error);
/* How many samples of the source at `index` are in no block: code missing or undecodable. With
 * SWBT, how many streams no path through the code explains. */
HBBP_API hbbp_status hbbp_profile_unexplained_at(const hbbp_profile *profile, size_t index,
                                                 uint64_t *samples, hbbp_error *error);
/* How many IP samples of the source at `index` are in blocks that streams of another source count,
 * and so add nothing. Errors as above. */
HBBP_API hbbp_status hbbp_profile_superseded_at(const hbbp_profile *profile, size_t index,
                                                uint64_t *samples, hbbp_error *error);
/* The same by reason, every reason that this library knows: "no-code", "undecodable",
 * "leaves-module", "backwards", "passes-branch", "not-a-branch", "too-long". `source` is an index
 * of a source; _count gives 0 if there is no such source. */
HBBP_API size_t hbbp_profile_unexplained_reason_count(const hbbp_profile *profile, size_t source);
HBBP_API hbbp_status hbbp_profile_unexplained_reason_at(const hbbp_profile *profile, size_t source,
                                                        size_t index, hbbp_counter *counter,
                                                        hbbp_error *error);
/* What else the source at index `source` counted: why bursts ended or were dropped. Only numbers
 * that are not 0. _count gives 0 if there is no such source. */
HBBP_API size_t hbbp_profile_counter_count(const hbbp_profile *profile, size_t source);
HBBP_API hbbp_status hbbp_profile_counter_at(const hbbp_profile *profile, size_t source,
                                             size_t index, hbbp_counter *counter,
                                             hbbp_error *error);
HBBP_API size_t hbbp_profile_thread_count(const hbbp_profile *profile);
HBBP_API hbbp_status hbbp_profile_thread_at(const hbbp_profile *profile, size_t index,
                                            hbbp_thread *thread, hbbp_error *error);
HBBP_API size_t hbbp_profile_module_count(const hbbp_profile *profile);
HBBP_API hbbp_status hbbp_profile_module_at(const hbbp_profile *profile, size_t index,
                                            hbbp_module *module, hbbp_error *error);
/* In order of module and address; every block that has a count. */
HBBP_API size_t hbbp_profile_block_count(const hbbp_profile *profile);
HBBP_API hbbp_status hbbp_profile_block_at(const hbbp_profile *profile, size_t index,
                                           hbbp_block *block, hbbp_error *error);
/* In order of module and address; every function that has a block with a count, and those of a
 * kernel that have samples. */
HBBP_API size_t hbbp_profile_function_count(const hbbp_profile *profile);
HBBP_API hbbp_status hbbp_profile_function_at(const hbbp_profile *profile, size_t index,
                                              hbbp_function *function, hbbp_error *error);

/* In order of from_module, from, to_module, to. Since 0.1. */
HBBP_API size_t hbbp_profile_branch_count(const hbbp_profile *profile);
HBBP_API hbbp_status hbbp_profile_branch_at(const hbbp_profile *profile, size_t index,
                                            hbbp_branch *branch, hbbp_error *error);

/* Copies blocks [first, first + count) into `blocks`, whose elements are block_size =
 * sizeof(hbbp_block) apart as the caller knows it; cheaper than one call each. `copied` gets how
 * many there were. Errors: HBBP_ERROR_INVALID_ARGUMENT (NULL; a block_size that no
 * version has). Since 0.1. */
HBBP_API hbbp_status hbbp_profile_copy_blocks(const hbbp_profile *profile, size_t first,
                                              size_t count, size_t block_size, hbbp_block *blocks,
                                              size_t *copied, hbbp_error *error);

/* Code ------------------------------------------------------------------------------------ */

/* The block around an address of a module, whether it has a count or not.
 * Errors: HBBP_ERROR_NOT_FOUND (no module, or no code there). Any thread. Since 0.1. */
HBBP_API hbbp_status hbbp_profile_find_block(const hbbp_profile *profile, uint32_t module,
                                             uint64_t address, hbbp_block *block,
                                             hbbp_error *error);

/* The instruction at an address of a module; address + length is the next one.
 * Errors: HBBP_ERROR_NOT_FOUND (no module, no code there, or no instruction).
 * Any thread. Since 0.1. */
HBBP_API hbbp_status hbbp_profile_decode(const hbbp_profile *profile, uint32_t module,
                                         uint64_t address, hbbp_instruction *instruction,
                                         hbbp_error *error);

HBBP_EXTERN_C_END

#endif /* HBBP_PROFILE_H_ */
