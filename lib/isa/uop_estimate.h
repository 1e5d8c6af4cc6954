// Micro-operations of code, estimated from the forms of its instructions.
//
// What IBS of AMD counts at dispatch are macro-operations: most instructions, also those that load,
// store, or load and compute, are one. The exceptions here are those of Zen (A. Fog, "Instruction
// tables"; AMD's optimization guides) that ordinary code has:
//   2  arithmetic on memory as the destination (add [rax], 1), calls, push and pop of memory, xchg,
//      leave, wide multiplication and division
//   4  locked arithmetic and exchanges with memory
//   8  string instructions, once; of a repeated one every turn is its own
//   0  jcc behind cmp or test, which are fused
// It is good for the share that the blocks of a program have in uops; for a single block it can be
// off by some tenths. Microcode (cpuid, rdtsc, gathers), the halves of 256-bit operations before
// Zen 2 and those of 512 bits before Zen 5, and the wider fusion of Zen 3 are not modelled.
#ifndef HBBP_LIB_ISA_UOP_ESTIMATE_H_
#define HBBP_LIB_ISA_UOP_ESTIMATE_H_

#include <cstdint>
#include <span>

namespace hbbp {

// Of the instructions of `code`, from its start to its end or to what cannot be decoded; at
// least 1.
double EstimateUops(std::span<const uint8_t> code);

}  // namespace hbbp

#endif  // HBBP_LIB_ISA_UOP_ESTIMATE_H_
