/* source.h: what people read of an address: its source line, what was inlined there, the text of
 * its instruction, the names of functions as their language spells them.
 *
 * Source lines come from DWARF 4 and 5: of the module, of its separate debug file (by build ID or
 * .gnu_debuglink), with what dwz shares (.gnu_debugaltlink) and with split DWARF (.dwo, .dwp); of a
 * kernel, of its vmlinux. They need libdw of elfutils (libdw.so.1), which is loaded when the first
 * line is asked for. No server is asked (debuginfod) unless an option says so. A module is read
 * unit by unit, as far as is asked; what is large and compressed is unpacked into a file without a
 * name (TMPDIR, /var/tmp, /tmp). Lines of generated code are those of its jitdump.
 */
#ifndef HBBP_SOURCE_H_
#define HBBP_SOURCE_H_

#include "host.h"
#include "profile.h"

HBBP_EXTERN_C_BEGIN

/* How far reading the debug information of a module is. Called in the thread that asked for a
 * line; `module` is its path, valid during the call. Must not use the profile, nor throw. */
typedef void (*hbbp_source_progress)(const char *module, uint64_t done_bytes, uint64_t total_bytes,
                                     void *user);

/* For hbbp_source_options.flags. */
enum {
  /* Ask the servers that DEBUGINFOD_URLS names for debug files that are not here, by libdebuginfod,
   * which keeps them. May take minutes. */
  HBBP_SOURCE_OPTION_DEBUGINFOD = 1u << 0
};

typedef struct hbbp_source_options {
  uint32_t struct_size;   /* set by the caller */
  uint32_t flags;         /* HBBP_SOURCE_OPTION_* */
  const char *debug_root; /* where separate debug files are; NULL: /usr/lib/debug; "": nowhere */
  uint64_t memory_limit;  /* bytes of decoded debug information kept, of all modules; 0: 256 MiB */
  /* These three are used until the profile is destroyed or hbbp_profile_set_source_options is
     called again, and must live as long. Profiles that are selected from it
     (hbbp_profile_select_thread, _select_slice) do not have them, but may be given some. */
  hbbp_source_progress progress; /* may be NULL */
  void *user;                    /* for progress */
  const hbbp_cancel *cancel;     /* calls off what has to be read for an answer: the function,
                                    hbbp_pivot_create too, returns HBBP_ERROR_CANCELLED, and reads
                                    it the next time. What was read before is answered. It is
                                    looked at between calls of libdw, which take milliseconds, and
                                    when libdebuginfod asks, about once a second */
} hbbp_source_options;

/* One function at an address: the innermost one that was inlined there, or what it was inlined
 * into. Strings live as long as the profile, or until hbbp_profile_set_source_options. */
typedef struct hbbp_source_frame {
  uint32_t struct_size; /* set by the caller, or by the size that it passes */
  uint32_t line;        /* of the instruction, in an outer frame of the call; 0: of no line */
  uint32_t column;      /* 0: not known */
  uint32_t reserved;
  const char *file;     /* absolute if the compiler said where it ran; "" if not known */
  const char *function; /* as the linker knows it (mangled), otherwise its name; "" if not known */
} hbbp_source_frame;

/* What is the same for all addresses of [start, end). */
typedef struct hbbp_source_place {
  uint32_t struct_size; /* set by the caller */
  uint32_t frame_count; /* all of them, also those that did not fit; 0: nothing is known */
  uint64_t start;
  uint64_t end;
} hbbp_source_place;

/* Says where debug information is looked for. Lines that were found before are gone. Not while
 * another thread uses the profile. Errors: HBBP_ERROR_INVALID_ARGUMENT, HBBP_ERROR_VERSION.
 * Since 0.1. */
HBBP_API hbbp_status hbbp_profile_set_source_options(hbbp_profile *profile,
                                                     const hbbp_source_options *options,
                                                     hbbp_error *error);

/* The source of an address of a module: up to `capacity` frames, innermost first, into `frames`,
 * whose elements are frame_size = sizeof(hbbp_source_frame) apart as the caller knows it. The
 * outermost frame is the function that has the code. `place` says how many frames there are and
 * how far the answer holds: to walk over a function, go on at place.end.
 * Errors: HBBP_ERROR_NOT_FOUND (no such module; no debug information of it: the message says where
 * was looked and what to install), HBBP_ERROR_MISMATCH (only that of another build),
 * HBBP_ERROR_UNSUPPORTED (no libdw; generated code of which no jitdump tells lines),
 * HBBP_ERROR_CANCELLED,
 * HBBP_ERROR_BAD_FORMAT, HBBP_ERROR_IO, HBBP_ERROR_INVALID_ARGUMENT (NULL; a frame_size that no
 * version has). What fails for a module fails at once the next time, unless it was called off. Any
 * thread. Since 0.1. */
HBBP_API hbbp_status hbbp_profile_find_source(const hbbp_profile *profile, uint32_t module,
                                              uint64_t address, size_t capacity, size_t frame_size,
                                              hbbp_source_frame *frames, hbbp_source_place *place,
                                              hbbp_error *error);

/* What of a module's debug information was missing or damaged, as far as was noticed up to now, as
 * one line in `buffer`, cut where that ends; "" if nothing. For a module of which nothing was asked
 * before it finds its debug information, and fails as hbbp_profile_find_source does. Any thread.
 * Since 0.1. */
HBBP_API hbbp_status hbbp_profile_source_problem(const hbbp_profile *profile, uint32_t module,
                                                 char *buffer, size_t buffer_size,
                                                 hbbp_error *error);

/* The name of a function as C++ or Rust spells it; the symbol itself if it is no mangled name.
 * Writes as much as fits into `buffer`, always with a final 0, and gives the length of the whole
 * name without it; NULL and 0 to ask for that. A NULL symbol gives 0. Any thread. Since 0.1. */
HBBP_API size_t hbbp_demangle(const char *symbol, char *buffer, size_t buffer_size);

/* What an instruction does to the flow of control. */
typedef int32_t hbbp_flow;
enum {
  HBBP_FLOW_NEXT = 0, /* the next instruction follows */
  HBBP_FLOW_CONDITIONAL = 1,
  HBBP_FLOW_JUMP = 2,
  HBBP_FLOW_INDIRECT_JUMP = 3,
  HBBP_FLOW_CALL = 4,
  HBBP_FLOW_INDIRECT_CALL = 5,
  HBBP_FLOW_RETURN = 6,
  HBBP_FLOW_SYSTEM = 7, /* system calls, far transfers, transactions */
  HBBP_FLOW_TRAP = 8    /* does not go on */
};

typedef struct hbbp_disassembly {
  uint32_t struct_size; /* set by the caller */
  uint32_t length;      /* bytes */
  uint64_t address;
  uint64_t target; /* of a branch, if the code alone gives it; otherwise HBBP_NO_ADDRESS */
  hbbp_flow flow;
  uint32_t reserved;
  char text[160]; /* Intel's syntax, lower case, numbers in hexadecimal */
} hbbp_disassembly;

/* The text of the instruction at an address of a module; address + length is the next one.
 * Errors: HBBP_ERROR_NOT_FOUND (no module, no code there, or no instruction),
 * HBBP_ERROR_INVALID_ARGUMENT. Any thread. Since 0.1. */
HBBP_API hbbp_status hbbp_profile_disassemble(const hbbp_profile *profile, uint32_t module,
                                              uint64_t address, hbbp_disassembly *disassembly,
                                              hbbp_error *error);

HBBP_EXTERN_C_END

#endif /* HBBP_SOURCE_H_ */
