// Shifts and rotations by each possible constant. What they leave in flags that the architecture
// does not define differs, on some processors, from what the same shift by cl leaves, and for
// rotations from what the same one of a register leaves.
//
// Contract: code without a stack frame; only for the asm statements of handlers_bits.cc.
#ifndef HBBP_LIB_TRACE_INTERPRETER_SHIFT_TABLE_H_
#define HBBP_LIB_TRACE_INTERPRETER_SHIFT_TABLE_H_

#include <cstdint>

// Symbols of asm statements. NOLINTBEGIN(readability-identifier-naming)
extern "C" {

// [operation as in ModRM.reg][size 0 ... 3][count]: eight bytes of code that shift rcx.
__attribute__((visibility("hidden"))) extern const uint8_t hbbp_trace_shifts[8][4][64][8];
// Likewise of memory, at rcx; rol, ror, rcl, rcr only.
__attribute__((visibility("hidden"))) extern const uint8_t hbbp_trace_memory_rotations[4][4][64][8];
// [shld, shrd][size 1 ... 3][count]: likewise, from rdx.
__attribute__((visibility("hidden"))) extern const uint8_t hbbp_trace_double_shifts[2][3][64][8];

// Jumps to the code that rsi points to, since handlers call nothing by a pointer themselves.
__attribute__((visibility("hidden"))) extern const uint8_t hbbp_trace_run_shift[];

}  // extern "C"
// NOLINTEND(readability-identifier-naming)

#endif  // HBBP_LIB_TRACE_INTERPRETER_SHIFT_TABLE_H_
