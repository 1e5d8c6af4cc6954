// EstimateUops estimates the micro-operations of code from the forms of its instructions.
//
// AMD's IBS counts macro-operations at dispatch: most instructions, including those that load,
// store, or load and compute, are one. The exceptions below are those of Zen (A. Fog, "Instruction
// tables"; AMD's optimization guides) that ordinary code has:
//   2  arithmetic on memory as the destination (add [rax], 1), calls, push and pop of memory, xchg,
//      leave, wide multiplication and division
//   4  locked arithmetic and exchanges with memory
//   8  string instructions, once; every iteration of a repeated one counts
//   0  jcc after cmp or test, which are fused
// The estimate suits the shares of the blocks of a program in uops; for a single block it can be
// wrong by some tenths. Microcode (cpuid, rdtsc, gathers), the halves of 256-bit operations before
// Zen 2 and those of 512 bits before Zen 5, and the wider fusion of Zen 3 are not modelled.
#ifndef HBBP_LIB_ISA_UOP_ESTIMATE_H_
#define HBBP_LIB_ISA_UOP_ESTIMATE_H_

#include <cstdint>
#include <span>

namespace hbbp {

// Counts the instructions of `code` up to its end or to the first that cannot be decoded. The
// result is at least 1.
double EstimateUops(std::span<const uint8_t> code);

}  // namespace hbbp

#endif  // HBBP_LIB_ISA_UOP_ESTIMATE_H_
