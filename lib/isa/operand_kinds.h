// The kinds of an instruction's operands, in one word.
#ifndef HBBP_LIB_ISA_OPERAND_KINDS_H_
#define HBBP_LIB_ISA_OPERAND_KINDS_H_

#include <cstdint>
#include <string_view>

#include "isa/instruction_properties.h"

namespace hbbp {

// Combinations are numbered: below kOperandKindsCount.
extern const uint32_t kOperandKindsCount;

// "reg-mem", "vec-vec-mem-imm", "none"; "other" for combinations that have no name.
std::string_view OperandKindsName(uint32_t combination);
uint32_t OperandKindsOf(const InstructionProperties& properties);

}  // namespace hbbp

#endif  // HBBP_LIB_ISA_OPERAND_KINDS_H_
