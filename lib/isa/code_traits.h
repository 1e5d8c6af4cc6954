// CountCodeTraits counts the instructions of a block that decide which source counts it well.
#ifndef HBBP_LIB_ISA_CODE_TRAITS_H_
#define HBBP_LIB_ISA_CODE_TRAITS_H_

#include <cstdint>
#include <span>

namespace hbbp {

// All fields are numbers of instructions.
struct CodeTraits {
  uint32_t instructions = 0;
  uint32_t memory = 0;  // loads and stores other than push, pop, call and ret
  uint32_t calls = 0;
  uint32_t divisions = 0;     // integer and floating point
  uint32_t long_latency = 0;  // divisions, square roots, x87 functions, locked, serializing
};

// Counts the instructions of `code` up to its end or to the first that cannot be decoded.
CodeTraits CountCodeTraits(std::span<const uint8_t> code);

}  // namespace hbbp

#endif  // HBBP_LIB_ISA_CODE_TRAITS_H_
