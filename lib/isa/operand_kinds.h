// Names the combination of the kinds of an instruction's operands.
#ifndef HBBP_LIB_ISA_OPERAND_KINDS_H_
#define HBBP_LIB_ISA_OPERAND_KINDS_H_

#include <cstdint>
#include <string_view>

#include "isa/instruction_properties.h"

namespace hbbp {

// Combinations have numbers below kOperandKindsCount.
extern const uint32_t kOperandKindsCount;

// Returns "none" or a name such as "reg-mem" or "vec-vec-mem-imm", and "other" for a combination
// without a name.
std::string_view OperandKindsName(uint32_t combination);
uint32_t OperandKindsOf(const InstructionProperties& properties);

}  // namespace hbbp

#endif  // HBBP_LIB_ISA_OPERAND_KINDS_H_
