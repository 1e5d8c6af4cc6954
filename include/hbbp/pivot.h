/* pivot.h: what ran, summed by any keys: rows, columns and values of your choice.
 *
 *   HBBP_INIT(hbbp_pivot_query, query);
 *   query.rows = "function";
 *   query.columns = "extension";
 *   query.where = "module = libm.so.6 and memory != none";
 *   hbbp_pivot_create(analysis, &query, NULL, &pivot, &error);
 *
 * Keys are those of hbbp_pivot_key_name and the names of taxonomies; docs/guide/mix.md explains
 * each. A pivot is a result: it does not change, and needs neither the analysis nor the taxonomy
 * afterwards.
 */
#ifndef HBBP_PIVOT_H_
#define HBBP_PIVOT_H_

#include "analysis.h"

HBBP_EXTERN_C_BEGIN

/* Taxonomies ------------------------------------------------------------------------------ */

/* Named groups of instructions (docs/reference/properties.md). A text may have several taxonomies,
 * each of which is a key of pivots by its name; its groups are the values. What is in no group of a
 * taxonomy is in "other". */
typedef struct hbbp_taxonomy hbbp_taxonomy;

/* `text` NULL: that of the library itself, with the taxonomy "groups" and others.
 * Errors:
 *   HBBP_ERROR_INVALID_ARGUMENT  taxonomy is NULL; the text cannot be read (the message has line
 *                                and column, and the nearest name where one is not known); a
 *                                taxonomy is called as a key
 *   HBBP_ERROR_NO_MEMORY
 * Any thread. Since 0.1. */
HBBP_API hbbp_status hbbp_taxonomy_create(const char *text, hbbp_taxonomy **taxonomy,
                                          hbbp_error *error);

/* Does the same with a file of up to 64 KiB.
 * Errors: those of hbbp_taxonomy_create, and of the file
 *   HBBP_ERROR_NOT_FOUND, HBBP_ERROR_PERMISSION, HBBP_ERROR_IO
 * Any thread. Since 0.1. */
HBBP_API hbbp_status hbbp_taxonomy_load(const char *path, hbbp_taxonomy **taxonomy,
                                        hbbp_error *error);

/* NULL is allowed. Since 0.1. */
HBBP_API void hbbp_taxonomy_destroy(hbbp_taxonomy *taxonomy);

/* How many taxonomies the text has. NULL gives 0. Any thread. Since 0.1. */
HBBP_API size_t hbbp_taxonomy_count(const hbbp_taxonomy *taxonomy);
/* Returns the name of a taxonomy, in the order of the text; NULL for NULL, and for an index that is
 * too large. Any thread. Since 0.1. */
HBBP_API const char *hbbp_taxonomy_name(const hbbp_taxonomy *taxonomy, size_t index);

/* Groups of the taxonomy at `index`, in the order of the text and without "other". NULL, and an
 * index that is too large, give 0 and NULL. Any thread. Since 0.1. */
HBBP_API size_t hbbp_taxonomy_group_count(const hbbp_taxonomy *taxonomy, size_t index);
HBBP_API const char *hbbp_taxonomy_group_name(const hbbp_taxonomy *taxonomy, size_t index,
                                              size_t group);

/* Queries --------------------------------------------------------------------------------- */

typedef struct hbbp_pivot_query {
  uint32_t struct_size; /* set by the caller */
  uint32_t join_names;  /* 1: what has one name is one line, its label that of the first: static
                           functions, C++ names that demangle alike, builds of one file; else 0 */
  const char *rows;     /* keys, with commas between them; NULL: "mnemonic"; "": one row of all */
  const char *columns;  /* the same; NULL and "": none */
  const char *values;   /* the same of values; NULL: "instructions" */
  const char *where;    /* which instructions count (docs/guide/mix.md); NULL: all */
  const char *sort;     /* rows by one of `values`, largest first; by "error", that of the first
                           value; or by "key". NULL: the first of `values` */
  uint64_t top;         /* rows at most; 0: all */
  const hbbp_taxonomy *taxonomy; /* whose names are keys; NULL: those of the library itself */
} hbbp_pivot_query;

/* The names of keys and values that every profile has, for help and completion; an index that is
 * too large gives NULL. Static storage. Any thread. Since 0.1. */
HBBP_API size_t hbbp_pivot_key_name_count(void);
HBBP_API const char *hbbp_pivot_key_name(size_t index);
HBBP_API size_t hbbp_pivot_value_name_count(void);
HBBP_API const char *hbbp_pivot_value_name(size_t index);

/* Results --------------------------------------------------------------------------------- */

typedef struct hbbp_pivot hbbp_pivot;

/* Functions whose code is missing (of a kernel, or of generated code that a perf map names) count
 * by their samples, unless the condition asks for what only code has. They have instructions and
 * no other value; the label of keys that only code has is "no-code". `work` may be NULL.
 * Errors:
 *   HBBP_ERROR_INVALID_ARGUMENT  NULL; an unknown, empty or repeated key, value or group, with the
 *                                nearest name in the message; a condition that cannot be read, with
 *                                the column
 *   HBBP_ERROR_CANCELLED         also by hbbp_debug_options.cancel, where keys are of lines
 *   HBBP_ERROR_NO_MEMORY
 * and those of hbbp_work_options. Any thread. Since 0.1. */
HBBP_API hbbp_status hbbp_pivot_create(const hbbp_analysis *analysis, const hbbp_pivot_query *query,
                                       const hbbp_work_options *work, hbbp_pivot **pivot,
                                       hbbp_error *error);

/* NULL is allowed. Since 0.1. */
HBBP_API void hbbp_pivot_destroy(hbbp_pivot *pivot);

typedef int32_t hbbp_pivot_axis;
enum { HBBP_PIVOT_ROWS = 0, HBBP_PIVOT_COLUMNS = 1 };

/* Returns the number of rows or columns. NULL gives 0. Any thread. Since 0.1. */
HBBP_API size_t hbbp_pivot_line_count(const hbbp_pivot *pivot, hbbp_pivot_axis axis);
/* Does the same, those included that `top` left out. NULL gives 0. Any thread. Since 0.1. */
HBBP_API size_t hbbp_pivot_line_count_in_all(const hbbp_pivot *pivot, hbbp_pivot_axis axis);
/* How many labels a line has. NULL gives 0. Any thread. Since 0.1. */
HBBP_API size_t hbbp_pivot_key_count(const hbbp_pivot *pivot, hbbp_pivot_axis axis);
/* How many numbers a cell has. NULL gives 0. Any thread. Since 0.1. */
HBBP_API size_t hbbp_pivot_value_count(const hbbp_pivot *pivot);

typedef int32_t hbbp_label_kind;
enum {
  HBBP_LABEL_TEXT = 0,
  HBBP_LABEL_NUMBER = 1, /* as of threads and widths */
  HBBP_LABEL_ADDRESS = 2 /* in its module */
};

typedef struct hbbp_pivot_label {
  uint32_t struct_size; /* set by the caller */
  hbbp_label_kind kind;
  const char *text; /* always; function names as the symbol table has them (mangled) */
  uint64_t number;  /* of HBBP_LABEL_NUMBER and HBBP_LABEL_ADDRESS; else 0 */
  uint32_t index;   /* in a list, by key:
                       thread, module, slice: of the profile;
                       function, block: of the analysis;
                       loop: of hbbp_loops_create; address: that of its module.
                       HBBP_NO_INDEX of all other keys (process, source, file, line, inlined, every
                       property and taxonomy), and of the labels "none", "unknown" and "no-code" */
  uint32_t reserved;
} hbbp_pivot_label;

/* Key `key` of a line.
 * Errors:
 *   HBBP_ERROR_INVALID_ARGUMENT  NULL; no such axis
 *   HBBP_ERROR_NOT_FOUND         no such line or key
 * Any thread. Since 0.1. */
HBBP_API hbbp_status hbbp_pivot_get_label(const hbbp_pivot *pivot, hbbp_pivot_axis axis,
                                          size_t line, size_t key, hbbp_pivot_label *label,
                                          hbbp_error *error);

/* Instead of a row or column: all of them, those included that `top` left out. */
#define HBBP_PIVOT_ALL SIZE_MAX

typedef struct hbbp_pivot_cell {
  uint32_t struct_size; /* set by the caller */
  uint32_t reserved;
  double value; /* instructions, executions (of blocks), bytes or operations; in the unit of
                   the source (hbbp_source_info.unit) */
  double standard_error; /* of the value */
  double share;          /* of all that the condition let through; 0 to 1 */
  double share_error;    /* of the share, which is surer than the value: what is wrong with all
                            counts alike does not change it */
} hbbp_pivot_cell;

/* Value `value` of a cell; `row` and `column` may be HBBP_PIVOT_ALL, which is the only column
 * without keys of columns. A cell where nothing ran is 0.
 * Errors:
 *   HBBP_ERROR_INVALID_ARGUMENT  NULL
 *   HBBP_ERROR_NOT_FOUND         no such row, column or value
 * Any thread. Since 0.1. */
HBBP_API hbbp_status hbbp_pivot_get_cell(const hbbp_pivot *pivot, size_t row, size_t column,
                                         size_t value, hbbp_pivot_cell *cell, hbbp_error *error);

/* Ratios ---------------------------------------------------------------------------------- */

typedef struct hbbp_ratio {
  uint32_t struct_size; /* set by hbbp_ratios_copy */
  uint32_t is_known;    /* 0: this profile does not say; the value is 0 then */
  const char *group;    /* "memory": what belongs together */
  const char *name;     /* "bytes-read", stable */
  double value;
  const char *unit;      /* "operations", "bytes", "share" (0 to 1), ... */
  double standard_error; /* of the value itself, not of its parts (docs/guide/mix.md) */
} hbbp_ratio;

typedef struct hbbp_ratios hbbp_ratios;

/* What follows from a whole mix, docs/guide/mix.md lists it: operations on floating point by
 * precision, bytes loaded and stored, arithmetic intensity, branch density, instructions by taken
 * branch, shares of packed instructions and of each vector width. `where` and `taxonomy` as in
 * hbbp_pivot_query. `work` may be NULL.
 * Errors:
 *   HBBP_ERROR_INVALID_ARGUMENT  NULL; a condition that cannot be read
 *   HBBP_ERROR_CANCELLED         also by hbbp_debug_options.cancel, where the condition is of lines
 *   HBBP_ERROR_NO_MEMORY
 * and those of hbbp_work_options. Any thread. Since 0.1. */
HBBP_API hbbp_status hbbp_ratios_create(const hbbp_analysis *analysis, const char *where,
                                        const hbbp_taxonomy *taxonomy,
                                        const hbbp_work_options *work, hbbp_ratios **ratios,
                                        hbbp_error *error);

/* NULL is allowed. Since 0.1. */
HBBP_API void hbbp_ratios_destroy(hbbp_ratios *ratios);

/* Read as api.h says. Since 0.1. */
HBBP_API size_t hbbp_ratios_count(const hbbp_ratios *ratios);
HBBP_API hbbp_status hbbp_ratios_copy(const hbbp_ratios *ratios, size_t first, size_t count,
                                      size_t size, hbbp_ratio *elements, size_t *copied,
                                      hbbp_error *error);

HBBP_EXTERN_C_END

#if defined(HBBP_DISABLE)
#define HBBP_DISABLE_PIVOT
#include "disabled.inc"
#endif

#endif /* HBBP_PIVOT_H_ */
