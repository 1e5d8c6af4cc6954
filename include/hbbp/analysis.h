/* analysis.h: how often each basic block ran, by a profile and the code of its modules.
 *
 *   hbbp_analysis *analysis;
 *   hbbp_analysis_create(profile, NULL, NULL, &analysis, &error);
 *   size_t count = hbbp_analysis_block_count(analysis), copied;
 *   hbbp_block *blocks = malloc(count * sizeof(*blocks));
 *   hbbp_analysis_copy_blocks(analysis, 0, count, sizeof(*blocks), blocks, &copied, &error);
 *
 * An analysis is immutable and does not need the profile afterwards. Addresses of modules are those
 * of the ELF file, as objdump prints them, whatever address the module was loaded at. Indices of
 * sources, threads and modules are those of the profile.
 *
 * Block counts are estimates. With EBS a block of l instructions in which s samples fell, each
 * worth P events, ran c = P * s / l times, with standard error P * sqrt(s) / l (Nowak et al.,
 * "Hybrid Basic Block Profiling"; samples are Poisson). With a clock as the event, P is in
 * nanoseconds and the library assumes one instruction a nanosecond: counts are then proportional
 * to time and exact only up to a factor. hbbp_source_info.unit says which holds.
 *
 * With SWBT and LBR a burst of N taken branches has N - 1 streams, the code between one branch and
 * the next, and each adds P / extent to every block that it crosses. The extent is N - 1, or, if
 * hbbp_source_info.extent_in_events is 1, what the burst covers of the event: its instructions; the
 * cycles that the processor counted in a branch stack; of a clock, the nanoseconds that its code
 * takes. These are estimated by a model of the processor: counts are executions, but their sum may
 * be off by a factor of two or so, which standard errors leave out. They have what else is wrong
 * with the model, 12 % of the counts of each page of code, and what follows from the number of
 * bursts, which are independent; streams of one burst are not, and they allow for that. Counts of
 * few bursts are skewed: hbbp_count_interval has the 95 % interval.
 * Where both sources saw a module, SWBT counts its blocks and EBS does not: counts of
 * sources are never added to each other. Nor are those of different events: the sources of a
 * recording may sample several, and one of them counts (hbbp_analysis_options.event).
 */
#ifndef HBBP_ANALYSIS_H_
#define HBBP_ANALYSIS_H_

#include "estimator.h"
#include "import.h"
#include "lines.h"
#include "profile.h"

HBBP_EXTERN_C_BEGIN

typedef struct hbbp_analysis hbbp_analysis;

/* Files of the kernel that was profiled. What is NULL is looked for where it usually is, and taken
 * only if it is of that kernel (and boot, as far as it matters). */
typedef struct hbbp_kernel_files {
  uint32_t struct_size; /* set by the caller */
  uint32_t reserved;
  const char *vmlinux; /* the static kernel, an ELF file with symbols */
  const char *kcore; /* its memory, a file of the ELF core format: a copy of /proc/kcore, a dump */
  const char *kallsyms; /* its symbols, a copy of /proc/kallsyms or a System.map */
} hbbp_kernel_files;

/* Fields that are 0 or NULL have their defaults. What they point to is used during the call only,
 * but for what hbbp_debug_options says. */
typedef struct hbbp_analysis_options {
  uint32_t struct_size; /* set by the caller */
  hbbp_estimator estimator;
  const char
      *tree; /* JSON of a tree, for HBBP_ESTIMATOR_TREE; NULL: the published one (estimator.h)
              */
  const hbbp_kernel_files *kernel; /* NULL: those of this machine, if they are of that kernel */
  const hbbp_debug_options *debug; /* where debug information is; NULL: where it usually is */
  const char *event; /* whose samples count, by its name in hbbp_source_info with or without its
                        modifiers ("cycles:u", "cycles"); NULL: of each family of sources the best
                        for counting, which is instructions before cycles before clocks, and of
                        branches taken ones before others */
  const char *root;  /* as in hbbp_import_options, for files that were not found by the import or
                        have moved since; NULL: they are where the profile says. The profile of the
                        analysis has the paths that were found */
  const hbbp_moved_file *moved_files; /* likewise */
  uint32_t moved_file_count;
  uint32_t reserved; /* 0 */
} hbbp_analysis_options;

typedef struct hbbp_analysis_info {
  uint32_t struct_size;     /* set by the caller */
  hbbp_estimator estimator; /* never HBBP_ESTIMATOR_AUTO */
  double ebs_scale;         /* what its counts were multiplied by */
  double streams_scale;
  uint32_t is_one_scale; /* 0: no module was observed by both families, so that there was nothing to
                            find a scale by, and counts of both are not to be added */
  uint32_t reserved;
} hbbp_analysis_info;

/* What became of the samples of a source. */
typedef struct hbbp_source_result {
  uint32_t struct_size; /* set by hbbp_analysis_copy_sources */
  uint32_t reserved;
  uint64_t unexplained; /* IP samples in no block: code missing or undecodable; streams that no path
                           through the code explains */
  uint64_t superseded;  /* IP samples in blocks that streams of another source count, which add
                           nothing */
  uint32_t is_other_event; /* 1: blocks are counted by another event (hbbp_analysis_options.event),
                              and none of its samples adds anything */
  uint32_t reserved2;
} hbbp_source_result;

/* How the code of a module was found. */
typedef int32_t hbbp_code_state;
enum {
  HBBP_CODE_FILE = 0,       /* in its file, whose build ID is the one that ran */
  HBBP_CODE_PROFILE = 1,    /* stored in the profile */
  HBBP_CODE_MISSING = 2,    /* not found: its samples are unexplained */
  HBBP_CODE_MISMATCH = 3,   /* its file was replaced by another one since: as MISSING */
  HBBP_CODE_NOT_SOUGHT = 4, /* it has no samples */
  HBBP_CODE_CORE = 5        /* of a kernel: in /proc/kcore or a core file, else in its vmlinux */
};

typedef struct hbbp_module_result {
  uint32_t struct_size; /* set by hbbp_analysis_copy_modules */
  hbbp_code_state code;
  const char *problem;    /* why the code is missing, one line; else empty */
  uint64_t patched_bytes; /* of a kernel whose vmlinux is there too: bytes of the functions with
                             samples that the kernel had rewritten in memory */
} hbbp_module_result;

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
  uint32_t struct_size; /* set by the caller, or by hbbp_analysis_copy_blocks */
  uint32_t module;      /* index of its module */
  uint64_t start;       /* address in the module */
  uint64_t end;         /* exclusive */
  uint32_t instruction_count;
  uint32_t function;       /* index of its function; HBBP_NO_INDEX for a block found by
                              hbbp_analysis_find_block in a function without samples */
  hbbp_source_kind source; /* whose count was used; HBBP_SOURCE_NONE if it was never seen */
  uint32_t flags;          /* HBBP_BLOCK_* */
  double count;            /* executions */
  double standard_error;   /* of count */
  uint64_t samples;        /* that the count rests on; SWBT: streams across it */
  double bias_ratio;  /* how often its branches were the oldest of their branch stacks, by how often
                         they would have been if each entry were as likely; 0: in no stack */
  double bias_chance; /* of that or more, at most, if each entry is as likely; 1: not more */
} hbbp_block;

typedef struct hbbp_function {
  uint32_t struct_size; /* set by hbbp_analysis_copy_functions */
  uint32_t module;      /* index of its module */
  uint64_t start;
  uint64_t end;        /* exclusive */
  const char *name;    /* as the symbol table has it (mangled); "0x1234" if it has none */
  double instructions; /* executed in it */
  double standard_error;
  uint64_t samples; /* EBS: in it; SWBT: streams that came into it */
  const char
      *demangled_name; /* as C++ or Rust spells it; the same as name if that is not mangled */
} hbbp_function;

/* What the hottest have most of. */
typedef int32_t hbbp_order;
enum {
  HBBP_ORDER_INSTRUCTIONS = 0, /* executed: of a block, its count times its instructions */
  HBBP_ORDER_EXECUTIONS = 1,   /* of blocks only: hbbp_block.count */
  HBBP_ORDER_SAMPLES = 2
};

/* A taken branch, by all threads and sources. Only SWBT has them. */
typedef struct hbbp_branch {
  uint32_t struct_size; /* set by hbbp_analysis_copy_branches */
  uint32_t from_module; /* HBBP_NO_INDEX: in no known mapping, as with to_module */
  uint64_t from;        /* of the branch instruction, in its module; HBBP_NO_ADDRESS: the module is
                           not known, or its code is missing; as with `to` */
  uint64_t to;
  uint32_t to_module;
  uint32_t reserved;
  uint64_t samples; /* times that it was observed */
  double count;     /* executions, on the scale of hbbp_block.count; 0 if it was only ever the last
                       branch of a burst, which no stream follows */
  /* For hardware branch stacks, how often it was the oldest entry, and how often it would have been
   * if each entry of a stack were as likely. */
  uint64_t oldest;
  double oldest_expected;
} hbbp_branch;

/* The samples of one source that count for one instruction, by all threads: those at its address,
 * or by its method (hbbp_source_info.ebs_method) behind it. Samples skid: where they fall is not
 * how often an instruction was executed. */
typedef struct hbbp_ip_sum {
  uint32_t struct_size; /* set by hbbp_analysis_copy_ip_sums */
  uint32_t module;      /* index of its module */
  uint32_t function;    /* index of its function, or HBBP_NO_INDEX */
  uint32_t source;      /* index of the source in the profile */
  uint64_t address;     /* in the module; run-time address in the kernel and in generated code;
                           HBBP_NO_ADDRESS: of all instructions of a module that are not known */
  uint64_t samples;     /* never 0 */
} hbbp_ip_sum;

/* Making it --------------------------------------------------------------------------------- */

/* Finds the code of the modules, the blocks of the functions that have samples, and their counts:
 * some tens of milliseconds for a large program, seconds for a recording of a very large one. Code
 * that cannot be found is not an error: modules have problems, and samples are unexplained.
 * `options` and `work` may be NULL.
 * Errors:
 *   HBBP_ERROR_INVALID_ARGUMENT  NULL; no such estimator, or a tree with another one; a flag of
 *                                hbbp_debug_options that this library does not know
 *   HBBP_ERROR_BAD_FORMAT        not a tree, with the node in the message; a damaged kernel file
 *   HBBP_ERROR_NOT_FOUND, HBBP_ERROR_PERMISSION, HBBP_ERROR_IO  of a kernel file
 *   HBBP_ERROR_NOT_FOUND         no source of that event has samples, and the message names those
 *                                that do; root is not a directory; no module has the path or name
 *                                of a moved file
 *   HBBP_ERROR_MISMATCH          a file is of another kernel or boot
 *   HBBP_ERROR_NO_MEMORY
 * and those of hbbp_work_options. Any thread. Since 0.1. */
HBBP_API hbbp_status hbbp_analysis_create(const hbbp_profile *profile,
                                          const hbbp_analysis_options *options,
                                          const hbbp_work_options *work, hbbp_analysis **analysis,
                                          hbbp_error *error);

/* NULL is allowed. Results that were made of it (mixes, pivots, loops) stay. Since 0.1. */
HBBP_API void hbbp_analysis_destroy(hbbp_analysis *analysis);

/* The profile that it is of, which lives as long as the analysis and is not to be destroyed. NULL
 * for NULL. Any thread. Since 0.1. */
HBBP_API const hbbp_profile *hbbp_analysis_profile(const hbbp_analysis *analysis);

/* Errors:
 *   HBBP_ERROR_INVALID_ARGUMENT  NULL
 * Any thread. Since 0.1. */
HBBP_API hbbp_status hbbp_analysis_get_info(const hbbp_analysis *analysis, hbbp_analysis_info *info,
                                            hbbp_error *error);

/* What was found --------------------------------------------------------------------------- */

/* Lists are read as api.h says. Since 0.1. */

/* Every block that has a count, in order of module and address. Since 0.1. */
HBBP_API size_t hbbp_analysis_block_count(const hbbp_analysis *analysis);
HBBP_API hbbp_status hbbp_analysis_copy_blocks(const hbbp_analysis *analysis, size_t first,
                                               size_t count, size_t size, hbbp_block *blocks,
                                               size_t *copied, hbbp_error *error);

/* Every function that has a block with a count, and those of a kernel that have samples, in order
 * of module and address. Since 0.1. */
HBBP_API size_t hbbp_analysis_function_count(const hbbp_analysis *analysis);
HBBP_API hbbp_status hbbp_analysis_copy_functions(const hbbp_analysis *analysis, size_t first,
                                                  size_t count, size_t size,
                                                  hbbp_function *functions, size_t *copied,
                                                  hbbp_error *error);

/* The same blocks and functions, the hottest first; equal ones in order of module and address.
 * `count` is how many are wanted, from the one at `first` on. Errors are those of lists, and:
 *   HBBP_ERROR_INVALID_ARGUMENT  no such order; HBBP_ORDER_EXECUTIONS of functions
 * Any thread. Since 0.1. */
HBBP_API hbbp_status hbbp_analysis_copy_hottest_blocks(const hbbp_analysis *analysis,
                                                       hbbp_order order, size_t first, size_t count,
                                                       size_t size, hbbp_block *blocks,
                                                       size_t *copied, hbbp_error *error);
HBBP_API hbbp_status hbbp_analysis_copy_hottest_functions(const hbbp_analysis *analysis,
                                                          hbbp_order order, size_t first,
                                                          size_t count, size_t size,
                                                          hbbp_function *functions, size_t *copied,
                                                          hbbp_error *error);

/* Taken branches, in order of from_module, from, to_module, to. Since 0.1. */
HBBP_API size_t hbbp_analysis_branch_count(const hbbp_analysis *analysis);
HBBP_API hbbp_status hbbp_analysis_copy_branches(const hbbp_analysis *analysis, size_t first,
                                                 size_t count, size_t size, hbbp_branch *branches,
                                                 size_t *copied, hbbp_error *error);

/* IP samples of all sources, also of events that blocks are not counted by, in order of module,
 * address and source. The first call adds them up. Since 0.1. */
HBBP_API size_t hbbp_analysis_ip_sum_count(const hbbp_analysis *analysis);
HBBP_API hbbp_status hbbp_analysis_copy_ip_sums(const hbbp_analysis *analysis, size_t first,
                                                size_t count, size_t size, hbbp_ip_sum *sums,
                                                size_t *copied, hbbp_error *error);

/* There are as many as the profile has modules, in their order. Since 0.1. */
HBBP_API size_t hbbp_analysis_module_count(const hbbp_analysis *analysis);
HBBP_API hbbp_status hbbp_analysis_copy_modules(const hbbp_analysis *analysis, size_t first,
                                                size_t count, size_t size,
                                                hbbp_module_result *modules, size_t *copied,
                                                hbbp_error *error);

/* There are as many as the profile has sources, in their order. Since 0.1. */
HBBP_API size_t hbbp_analysis_source_count(const hbbp_analysis *analysis);
HBBP_API hbbp_status hbbp_analysis_copy_sources(const hbbp_analysis *analysis, size_t first,
                                                size_t count, size_t size,
                                                hbbp_source_result *sources, size_t *copied,
                                                hbbp_error *error);

/* Count what is unexplained of the source at index `source` by reason, for every reason that this
 * library knows: "no-code", "undecodable", "leaves-module", "backwards", "passes-branch",
 * "not-a-branch", "too-long". _count gives 0 if there is no such source. Since 0.1. */
HBBP_API size_t hbbp_analysis_unexplained_reason_count(const hbbp_analysis *analysis,
                                                       size_t source);
HBBP_API hbbp_status hbbp_analysis_copy_unexplained_reasons(const hbbp_analysis *analysis,
                                                            size_t source, size_t first,
                                                            size_t count, size_t size,
                                                            hbbp_counter *reasons, size_t *copied,
                                                            hbbp_error *error);

/* The block around an address of a module, whether it has a count or not.
 * Errors:
 *   HBBP_ERROR_NOT_FOUND         no such module, or no code there
 *   HBBP_ERROR_INVALID_ARGUMENT  NULL
 * Any thread. Since 0.1. */
HBBP_API hbbp_status hbbp_analysis_find_block(const hbbp_analysis *analysis, uint32_t module,
                                              uint64_t address, hbbp_block *block,
                                              hbbp_error *error);

/* Intervals -------------------------------------------------------------------------------- */

/* The 95 % interval of an estimated count, of a block, a function, a mnemonic: *low and *high get
 * its ends, in the unit of `count`. Either may be NULL. It is not symmetric: of few bursts, a count
 * may be many times too low, and is never less than 0. Without a positive count and standard error,
 * both are the count. After Fay and Feuer, "Confidence intervals for directly standardized rates: a
 * method based on the gamma distribution", 1997, with two changes (docs/internals/method.md).
 * Any thread. Since 0.1. */
HBBP_API void hbbp_count_interval(double count, double standard_error, double *low, double *high);

/* Features --------------------------------------------------------------------------------- */

/* What a tree may ask about a block: numbers, by name ("length"); docs/internals/estimators.md
 * explains them. Later versions may add some at the end. Any thread. Since 0.1. */
HBBP_API size_t hbbp_block_feature_count(void);
/* Static storage; NULL if there is no such feature. Any thread. Since 0.1. */
HBBP_API const char *hbbp_block_feature_name(size_t index);

/* Features of blocks [first, first + count): hbbp_block_feature_count() numbers a block, one block
 * behind the other. *copied gets of how many blocks.
 * Errors:
 *   HBBP_ERROR_INVALID_ARGUMENT  NULL
 * Any thread. Since 0.1. */
HBBP_API hbbp_status hbbp_analysis_copy_block_features(const hbbp_analysis *analysis, size_t first,
                                                       size_t count, double *values, size_t *copied,
                                                       hbbp_error *error);

HBBP_EXTERN_C_END

#if defined(HBBP_DISABLE)
#define HBBP_DISABLE_ANALYSIS
#include "disabled.inc"
#endif

#endif /* HBBP_ANALYSIS_H_ */
