// Finds the divisor of div and idiv, and its value from the registers and the memory before them.
#ifndef HBBP_LIB_PROBES_DIVISOR_OPERAND_H_
#define HBBP_LIB_PROBES_DIVISOR_OPERAND_H_

#include <array>
#include <cstdint>
#include <span>

namespace hbbp {

struct DivisorOperand {
  static constexpr uint8_t kMemory = 16;

  uint8_t bits = 0;        // 8, 16, 32 or 64; 0: the instruction is another one
  uint8_t source = 0;      // number of a general-purpose register, or kMemory
  uint8_t first_bit = 0;   // 8 for ah, ch, dh and bh
  bool is_signed = false;  // idiv

  // `memory` are the bytes at the instruction's address. A negative divisor has its sign in all 64
  // bits.
  uint64_t Value(const std::array<uint64_t, 16>& registers, uint64_t memory) const;
};

DivisorOperand FindDivisorOperand(std::span<const uint8_t> code);

}  // namespace hbbp

#endif  // HBBP_LIB_PROBES_DIVISOR_OPERAND_H_
