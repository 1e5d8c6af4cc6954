// What the name of an instruction tells: what it does, to elements of which type.
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
  // The rest is meant for the forms with vector registers only.
  bool is_scalar = false;
  ElementType element_type = ElementType::kNone;
  uint8_t element_bits = 0;
  uint8_t index_bits = 0;  // of gathers and scatters
  uint8_t flops_per_lane = 0;
};

// By a name as Zydis has it: lower case, AVX with its v.
MnemonicTraits TraitsOfName(std::string_view name);

// The same from a table, which the first call builds.
const MnemonicTraits& TraitsOf(ZydisMnemonic mnemonic);

}  // namespace hbbp

#endif  // HBBP_LIB_ISA_MNEMONIC_TRAITS_H_
