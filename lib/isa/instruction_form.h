// These functions find properties of an instruction in its raw fields, without decoded operands.
#ifndef HBBP_LIB_ISA_INSTRUCTION_FORM_H_
#define HBBP_LIB_ISA_INSTRUCTION_FORM_H_

#include <algorithm>

#include "isa/zydis_decode.h"

namespace hbbp {

// Returns whether the ModRM byte addresses memory, which may be read, written or neither.
inline bool HasMemory(const ZydisDecodedInstruction& instruction) {
  return instruction.raw.modrm.offset != 0 && instruction.raw.modrm.mod != 3;
}

inline constexpr uint8_t kLockPrefix = 0xf0;

inline bool IsLocked(const ZydisDecodedInstruction& instruction) {
  const auto* const first = instruction.raw.prefixes;
  return std::any_of(first, first + instruction.raw.prefix_count,
                     [](const auto& prefix) { return prefix.value == kLockPrefix; });
}

inline bool IsStringOperation(const ZydisDecodedInstruction& instruction) {
  // These are movs and cmps, and stos, lods and scas. Other instructions with these opcodes are in
  // other maps.
  const uint8_t opcode = instruction.opcode;
  return instruction.opcode_map == ZYDIS_OPCODE_MAP_DEFAULT &&
         ((opcode >= 0xa4 && opcode <= 0xa7) || (opcode >= 0xaa && opcode <= 0xaf));
}

}  // namespace hbbp

#endif  // HBBP_LIB_ISA_INSTRUCTION_FORM_H_
