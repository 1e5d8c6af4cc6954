// Properties of the instructions of a block that decide which source counts it well.
#ifndef HBBP_LIB_ISA_CODE_TRAITS_H_
#define HBBP_LIB_ISA_CODE_TRAITS_H_

#include <cstdint>
#include <span>

namespace hbbp {

// Numbers of instructions.
struct CodeTraits {
  uint32_t instructions = 0;
  uint32_t memory = 0;  // load or store, other than by push, pop, call and ret
  uint32_t calls = 0;
  uint32_t divisions = 0;     // of integers and of floating point
  uint32_t long_latency = 0;  // divisions, square roots, x87 functions, locked, serializing
};

// Of the instructions of `code`, from its start to its end or to what cannot be decoded.
CodeTraits TraitsOf(std::span<const uint8_t> code);

}  // namespace hbbp

#endif  // HBBP_LIB_ISA_CODE_TRAITS_H_
