/* formats.h: an analysis in the formats of other tools.
 *
 *   static int32_t to_file(const void *bytes, size_t size, void *file) {
 *     return fwrite(bytes, 1, size, file) != size;
 *   }
 *   hbbp_export(analysis, "llvm", NULL, NULL, to_file, file, &error);
 *
 * docs/guide/export.md says which tool reads which format, and what each can hold. Counts are
 * executions, rounded; what has run is never 0.
 */
#ifndef HBBP_FORMATS_H_
#define HBBP_FORMATS_H_

#include "host.h"

HBBP_EXTERN_C_BEGIN

struct hbbp_analysis;

typedef struct hbbp_export_format {
  uint32_t struct_size;      /* set by hbbp_export_copy_formats */
  uint32_t is_of_one_module; /* 1: what is written is of one module */
  const char *name;
  const char *summary; /* one line: what reads it */
} hbbp_export_format;

/* The formats of this library. Read as api.h says, without a handle. Since 0.1. */
HBBP_API size_t hbbp_export_format_count(void);
HBBP_API hbbp_status hbbp_export_copy_formats(size_t first, size_t count, size_t size,
                                              hbbp_export_format *formats, size_t *copied,
                                              hbbp_error *error);

/* Takes the next bytes of what is written: valid during the call. Returns 0, or anything else to
 * end it. Called in the thread that exports. It must not throw. */
typedef int32_t (*hbbp_write)(const void *bytes, size_t size, void *user_data);

/* Says in a line what was left out of an export, and why. As hbbp_write. */
typedef void (*hbbp_export_note)(const char *note, void *user_data);

/* Fields that are 0 or NULL have their defaults. */
typedef struct hbbp_export_options {
  uint32_t struct_size; /* set by the caller */
  uint32_t reserved;    /* 0 */
  const char *module; /* the only one to write, by its path or file name; NULL: all, or for formats
                         of one module the file (without files, the other module) that executed
                         most instructions */
  hbbp_export_note note; /* may be NULL */
  void *user_data;       /* given to note */
} hbbp_export_options;

/* Writes an analysis in a format ("llvm", "bolt", ...) by calls of `write`, which gets `user_data`.
 * `options` and `work` may be NULL. What debug information is needed is read as
 * hbbp_analysis_find_lines does.
 * Errors:
 *   HBBP_ERROR_INVALID_ARGUMENT  NULL; no such format: the message lists those there are
 *   HBBP_ERROR_NOT_FOUND         no such module; nothing to write: no counts, or none with what the
 *                                format needs (lines, branches, slices), which the message names
 *   HBBP_ERROR_CANCELLED         also by hbbp_debug_options.cancel
 *   HBBP_ERROR_IO                `write` did not return 0: it has got a part of a file
 *   HBBP_ERROR_NO_MEMORY
 * and those of hbbp_work_options. Any thread. Since 0.1. */
HBBP_API hbbp_status hbbp_export(const struct hbbp_analysis *analysis, const char *format,
                                 const hbbp_export_options *options, const hbbp_work_options *work,
                                 hbbp_write write, void *user_data, hbbp_error *error);

HBBP_EXTERN_C_END

#if defined(HBBP_DISABLE)
#define HBBP_DISABLE_FORMATS
#include "disabled.inc"
#endif

#endif /* HBBP_FORMATS_H_ */
