/* lines.h: which line of which file an address is of, and what was inlined there.
 *
 * Lines come from the debug information of a module, DWARF 4 and 5: its own, that of its separate
 * debug file (by build ID or .gnu_debuglink), with what dwz shares (.gnu_debugaltlink) and with
 * split DWARF (.dwo, .dwp); of a kernel, that of its vmlinux. They need libdw of elfutils
 * (libdw.so.1), which is loaded when the first line is asked for. No server is asked (debuginfod)
 * unless an option says so. A module is read unit by unit, as far as is asked; what is large and
 * compressed is unpacked into a file without a name (TMPDIR, /var/tmp, /tmp). Lines of generated
 * code are those of its jitdump.
 */
#ifndef HBBP_LINES_H_
#define HBBP_LINES_H_

#include "host.h"

HBBP_EXTERN_C_BEGIN

struct hbbp_analysis;

/* How far reading the debug information of a module is. Called in the thread that asked for a
 * line; `module` is its path, valid during the call. Must not use the analysis, nor throw. */
typedef void (*hbbp_debug_progress)(const char *module, uint64_t done_bytes, uint64_t total_bytes,
                                    void *user_data);

/* The flags of hbbp_debug_options, combined by |. */
enum {
  /* Ask the servers that DEBUGINFOD_URLS names for debug files that are not here, by libdebuginfod,
   * which keeps them. May take minutes. */
  HBBP_DEBUG_USE_DEBUGINFOD = 1u << 0
};

/* Says where debug information is, and how it is read. Fields that are 0 or NULL have their
 * defaults. */
typedef struct hbbp_debug_options {
  uint32_t struct_size;   /* set by the caller */
  uint32_t flags;         /* HBBP_DEBUG_* */
  const char *debug_root; /* where separate debug files are; NULL: /usr/lib/debug; "": nowhere */
  uint64_t memory_limit;  /* bytes of decoded debug information kept, of all modules; 0: 256 MiB */
  /* These three are used until the analysis is destroyed: whichever function first needs the debug
     information of a module reads it, hbbp_pivot_create too. */
  hbbp_debug_progress progress;
  void *user_data;           /* given to progress */
  const hbbp_cancel *cancel; /* cancels what has to be read for an answer: the function returns
                                HBBP_ERROR_CANCELLED, and the next one reads it. What was read
                                before is answered. It is checked between calls of libdw, which take
                                milliseconds, and when libdebuginfod asks, about once a second */
} hbbp_debug_options;

/* One function at an address: the innermost one that was inlined there, or what it was inlined
 * into. Strings live as long as the analysis. */
typedef struct hbbp_line_frame {
  uint32_t struct_size;   /* set by hbbp_analysis_find_lines */
  uint32_t line;          /* of the instruction, in an outer frame of the call; 0: of no line */
  uint32_t column;        /* 0: not known */
  uint32_t discriminator; /* distinguishes code of one line, as the compiler encodes it; else 0 */
  const char *file;       /* absolute if the compiler said where it ran; "" if not known */
  const char *function; /* as the linker knows it (mangled), otherwise its name; "" if not known */
  uint32_t function_line; /* where `function` is declared; 0: not known */
  uint32_t reserved;
} hbbp_line_frame;

/* Describes all addresses of [start, end). */
typedef struct hbbp_line_range {
  uint32_t struct_size; /* set by the caller */
  uint32_t frame_count; /* all of them, also those that did not fit; 0: nothing is known */
  uint64_t start;
  uint64_t end;
} hbbp_line_range;

/* The lines of an address of a module: up to `capacity` frames, innermost first, into `frames`,
 * whose elements are frame_size = sizeof(hbbp_line_frame) apart as the caller knows it. The
 * outermost frame is the function that has the code. `range` says how many frames there are and how
 * far the answer holds: to walk over a function, go on at range.end.
 * Errors:
 *   HBBP_ERROR_NOT_FOUND         no such module; no debug information of it: the message says where
 *                                it was searched and what to install
 *   HBBP_ERROR_MISMATCH          only that of another build
 *   HBBP_ERROR_UNSUPPORTED       no libdw; generated code whose lines no jitdump has
 *   HBBP_ERROR_CANCELLED         by hbbp_debug_options.cancel
 *   HBBP_ERROR_BAD_FORMAT, HBBP_ERROR_IO
 *   HBBP_ERROR_INVALID_ARGUMENT  NULL; a frame_size that no version has
 * What fails for a module fails at once the next time, unless it was cancelled. Any thread.
 * Since 0.1. */
HBBP_API hbbp_status hbbp_analysis_find_lines(const struct hbbp_analysis *analysis, uint32_t module,
                                              uint64_t address, size_t capacity, size_t frame_size,
                                              hbbp_line_frame *frames, hbbp_line_range *range,
                                              hbbp_error *error);

/* Says what of a module's debug information was missing or damaged, as far as was noticed up to
 * now: one line in `buffer`, cut where that ends; "" if nothing. If nothing was asked of the module
 * before, its debug information is found first.
 * Errors: those of hbbp_analysis_find_lines, and
 *   HBBP_ERROR_INVALID_ARGUMENT  NULL; buffer_size is 0
 * Any thread. Since 0.1. */
HBBP_API hbbp_status hbbp_analysis_debug_problem(const struct hbbp_analysis *analysis,
                                                 uint32_t module, char *buffer, size_t buffer_size,
                                                 hbbp_error *error);

HBBP_EXTERN_C_END

#if defined(HBBP_DISABLE)
#define HBBP_DISABLE_LINES
#include "disabled.inc"
#endif

#endif /* HBBP_LINES_H_ */
