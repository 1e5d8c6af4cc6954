// MnemonicTraits is what follows from the name of an instruction: what it does, on elements of
// which type.
#ifndef HBBP_LIB_ISA_MNEMONIC_TRAITS_H_
#define HBBP_LIB_ISA_MNEMONIC_TRAITS_H_

#include <cstdint>
#include <string_view>

#include "isa/element_type.h"
#include "isa/instruction_category.h"
#include "isa/zydis_decode.h"

namespace hbbp {

struct MnemonicTraits {
  InstructionCategory category = InstructionCategory::kOther;
  // The remaining fields have a meaning for forms with vector registers only.
  bool is_scalar = false;
  ElementType element_type = ElementType::kNone;
  uint8_t element_bits = 0;
  uint8_t index_bits = 0;  // for gathers and scatters
  uint8_t flops_per_lane = 0;
};

// Finds the traits of a name of Zydis: lower case, AVX with its v.
MnemonicTraits TraitsOfName(std::string_view name);

// Returns the same from a table that the first call builds.
const MnemonicTraits& TraitsOf(ZydisMnemonic mnemonic);

}  // namespace hbbp

#endif  // HBBP_LIB_ISA_MNEMONIC_TRAITS_H_
