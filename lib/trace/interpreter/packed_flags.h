// Packed flags are the arithmetic flags as lahf and seto leave them in ax: OF in bit 0, CF PF AF ZF
// SF in bits 8, 10, 12, 14, 15. The other bits have no meaning. Two instructions read them from the
// processor, and two write them back.
//
// Contract: pure functions.
#ifndef HBBP_LIB_TRACE_INTERPRETER_PACKED_FLAGS_H_
#define HBBP_LIB_TRACE_INTERPRETER_PACKED_FLAGS_H_

#include <cstdint>

#include "trace/native/machine_state.h"

namespace hbbp::trace {

inline constexpr uint64_t kPackedOf = 1u << 0;
inline constexpr uint64_t kPackedLess = 1u << 1;  // SF != OF; only WithLess sets it
inline constexpr uint64_t kPackedCf = 1u << 8;
inline constexpr uint64_t kPackedPf = 1u << 10;
inline constexpr uint64_t kPackedAf = 1u << 12;
inline constexpr uint64_t kPackedZf = 1u << 14;
inline constexpr uint64_t kPackedSf = 1u << 15;

// `flags` are at their bits of RFLAGS.
constexpr uint64_t PackFlags(uint64_t flags) { return ((flags & 0xff) << 8) | ((flags >> 11) & 1); }

constexpr uint64_t UnpackFlags(uint64_t packed) {
  return ((packed >> 8) & (kArithmeticFlags & 0xff)) | ((packed & 1) << 11);
}

[[gnu::always_inline]] inline uint64_t WithLess(uint64_t packed) {
  return (packed & ~kPackedLess) | (((packed >> 14) ^ (packed << 1)) & kPackedLess);
}

// A condition holds if any flag of `mask` is set, or, if `negated`, if none is.
struct Condition {
  uint16_t mask;
  uint16_t negated;
  RegisterSet reads;
};

// Finds the condition of the low four bits of an opcode.
constexpr Condition ConditionOf(unsigned code) {
  constexpr Condition kConditions[8] = {
      {kPackedOf, 0, kOfBit},
      {kPackedCf, 0, kCfBit},
      {kPackedZf, 0, kZfBit},
      {kPackedCf | kPackedZf, 0, kCfBit | kZfBit},
      {kPackedSf, 0, kSfBit},
      {kPackedPf, 0, kPfBit},
      {kPackedLess, 0, kSfBit | kOfBit},
      {kPackedLess | kPackedZf, 0, kSfBit | kOfBit | kZfBit},
  };
  Condition condition = kConditions[(code >> 1) & 7];
  condition.negated = code & 1;
  return condition;
}

[[gnu::always_inline]] inline bool Holds(uint64_t packed, uint16_t mask, uint16_t negated) {
  return ((WithLess(packed) & mask) != 0) != (negated != 0);
}

}  // namespace hbbp::trace

#endif  // HBBP_LIB_TRACE_INTERPRETER_PACKED_FLAGS_H_
