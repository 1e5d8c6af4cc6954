// Contract: see the header.
#include "trace/interpreter/shift_table.h"

#define HBBP_SHIFT_ROW(name, reg)                        \
  ".set count, 0\n\t"                                    \
  ".rept 64\n\t.balign 8, 0xcc\n\t" name " $count, " reg \
  "\n\tret\n\t.set count, count + 1\n\t.endr\n\t"
#define HBBP_SHIFT_ROWS(name)      \
  HBBP_SHIFT_ROW(name "b", "%cl")  \
  HBBP_SHIFT_ROW(name "w", "%cx")  \
  HBBP_SHIFT_ROW(name "l", "%ecx") \
  HBBP_SHIFT_ROW(name "q",         \
                 "%rc"             \
                 "x")
#define HBBP_MEMORY_ROWS(name)       \
  HBBP_SHIFT_ROW(name "b", "(%rcx)") \
  HBBP_SHIFT_ROW(name "w", "(%rcx)") \
  HBBP_SHIFT_ROW(name "l", "(%rcx)") HBBP_SHIFT_ROW(name "q", "(%rcx)")
#define HBBP_DOUBLE_SHIFT_ROWS(name)          \
  HBBP_DOUBLE_SHIFT_ROW(name "w", "dx", "cx") \
  HBBP_DOUBLE_SHIFT_ROW(name "l", "edx", "ecx") HBBP_DOUBLE_SHIFT_ROW(name "q", "rdx", "rcx")
#define HBBP_DOUBLE_SHIFT_ROW(name, from, to)                       \
  ".set count, 0\n\t"                                               \
  ".rept 64\n\t.balign 8, 0xcc\n\t" name " $count, %" from ", %" to \
  "\n\tret\n\t.set count, count + 1\n\t.endr\n\t"

asm(".pushsection .text.hbbp_trace_shifts, \"ax\", @progbits\n\t"
    ".hidden hbbp_trace_shifts\n\t.globl hbbp_trace_shifts\n\t.balign 64\n"
    "hbbp_trace_shifts:\n\t"
    // The seventh operation is the same as the fifth.
    HBBP_SHIFT_ROWS("rol") HBBP_SHIFT_ROWS("ror") HBBP_SHIFT_ROWS("rcl") HBBP_SHIFT_ROWS("rcr")
    HBBP_SHIFT_ROWS("shl") HBBP_SHIFT_ROWS("shr") HBBP_SHIFT_ROWS("shl") HBBP_SHIFT_ROWS("sar")
    ".balign 8, 0xcc\n\t"
    ".hidden hbbp_trace_double_shifts\n\t.globl hbbp_trace_double_shifts\n"
    "hbbp_trace_double_shifts:\n\t"
    HBBP_DOUBLE_SHIFT_ROWS("shld") HBBP_DOUBLE_SHIFT_ROWS("shrd")
    ".balign 8, 0xcc\n\t"
    ".hidden hbbp_trace_memory_rotations\n\t.globl hbbp_trace_memory_rotations\n"
    "hbbp_trace_memory_rotations:\n\t"
    HBBP_MEMORY_ROWS("rol") HBBP_MEMORY_ROWS("ror") HBBP_MEMORY_ROWS("rcl") HBBP_MEMORY_ROWS("rcr")
    ".balign 8, 0xcc\n\t"
    ".hidden hbbp_trace_run_shift\n\t.globl hbbp_trace_run_shift\n"
    "hbbp_trace_run_shift:\n\t"
    "jmp *%rsi\n\t"
    ".popsection");
