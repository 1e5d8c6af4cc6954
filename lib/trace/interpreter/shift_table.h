// The tables have shifts and rotations by each possible constant. On some processors they leave
// other values in undefined flags than the same shift by cl does, and rotations of memory other
// values than those of a register.
//
// Contract: code without a stack frame; only for the asm statements of handlers_bits.cc.
#ifndef HBBP_LIB_TRACE_INTERPRETER_SHIFT_TABLE_H_
#define HBBP_LIB_TRACE_INTERPRETER_SHIFT_TABLE_H_

#include <cstdint>

// These are symbols of asm statements. NOLINTBEGIN(readability-identifier-naming)
extern "C" {

// An entry [operation as in ModRM.reg][size 0 ... 3][count] is eight bytes of code that shift rcx.
__attribute__((visibility("hidden"))) extern const uint8_t hbbp_trace_shifts[8][4][64][8];
// These rotate memory at rcx; there are only rol, ror, rcl and rcr.
__attribute__((visibility("hidden"))) extern const uint8_t hbbp_trace_memory_rotations[4][4][64][8];
// An entry [shld, shrd][size 1 ... 3][count] shifts bits of rdx into rcx.
__attribute__((visibility("hidden"))) extern const uint8_t hbbp_trace_double_shifts[2][3][64][8];

// Jumps to the code that rsi points to, because handlers must not call through a pointer.
__attribute__((visibility("hidden"))) extern const uint8_t hbbp_trace_run_shift[];

}  // extern "C"
// NOLINTEND(readability-identifier-naming)

#endif  // HBBP_LIB_TRACE_INTERPRETER_SHIFT_TABLE_H_
