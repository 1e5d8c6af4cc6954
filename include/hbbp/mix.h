/* mix.h: which instructions ran, and how many. */
#ifndef HBBP_MIX_H_
#define HBBP_MIX_H_

#include "analysis.h"

HBBP_EXTERN_C_BEGIN

/* What the rows of a mix stand for. Combined by |. */
typedef uint32_t hbbp_mix_keys;
enum {
  HBBP_MIX_BY_MNEMONIC = 1u << 0,
  HBBP_MIX_BY_MODULE = 1u << 1,
  HBBP_MIX_BY_FUNCTION = 1u << 2,
  HBBP_MIX_BY_THREAD = 1u << 3,
  HBBP_MIX_BY_SLICE = 1u << 4 /* of time (slices.h) */
};

typedef struct hbbp_mix_row {
  uint32_t struct_size; /* set by hbbp_mix_copy_rows */
  uint32_t module;      /* index in the profile; HBBP_NO_INDEX if not a key */
  uint32_t function;    /* index in the analysis; HBBP_NO_INDEX if not a key */
  uint32_t thread;      /* index in the profile; HBBP_NO_INDEX if not a key */
  const char *mnemonic; /* Intel's, lower case, without prefixes. "" if not a key, and for bytes of
                           blocks that cannot be decoded any more because a file has changed. Bytes
                           that never could are in no block, and so in no row */
  double instructions;  /* executed; in the unit of the source (hbbp_source_info.unit) */
  double standard_error;
  double share;   /* of all instructions in the mix; 0 to 1 */
  uint32_t slice; /* index in the profile; HBBP_NO_INDEX if not a key, or of a time that is not
                     known */
  uint32_t reserved;
} hbbp_mix_row;

typedef struct hbbp_mix hbbp_mix;

/* The mix of a whole profile, rows sorted by instructions, most first. `keys` 0 means
 * HBBP_MIX_BY_MNEMONIC. Without mnemonics, functions whose code is missing (of a kernel, or of
 * generated code that a perf map names) count by their samples. The mix does not need the analysis
 * afterwards. `work` may be NULL.
 * Errors:
 *   HBBP_ERROR_INVALID_ARGUMENT  NULL; an unknown key
 *   HBBP_ERROR_NO_MEMORY
 * and those of hbbp_work_options. Any thread. Since 0.1. */
HBBP_API hbbp_status hbbp_mix_create(const hbbp_analysis *analysis, hbbp_mix_keys keys,
                                     const hbbp_work_options *work, hbbp_mix **mix,
                                     hbbp_error *error);

/* NULL is allowed. Since 0.1. */
HBBP_API void hbbp_mix_destroy(hbbp_mix *mix);

/* All instructions executed, in the unit of the source. NULL gives 0. Any thread. Since 0.1. */
HBBP_API double hbbp_mix_total(const hbbp_mix *mix);

/* Read as api.h says. Since 0.1. */
HBBP_API size_t hbbp_mix_row_count(const hbbp_mix *mix);
HBBP_API hbbp_status hbbp_mix_copy_rows(const hbbp_mix *mix, size_t first, size_t count,
                                        size_t size, hbbp_mix_row *rows, size_t *copied,
                                        hbbp_error *error);

HBBP_EXTERN_C_END

#if defined(HBBP_DISABLE)
#define HBBP_DISABLE_MIX
#include "disabled.inc"
#endif

#endif /* HBBP_MIX_H_ */
