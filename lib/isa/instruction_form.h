// What the raw fields of a decoded instruction say of its form.
#ifndef HBBP_LIB_ISA_INSTRUCTION_FORM_H_
#define HBBP_LIB_ISA_INSTRUCTION_FORM_H_

#include <algorithm>

#include "isa/zydis_decode.h"

namespace hbbp {

// Does its ModRM name memory, be it read, written or only addressed?
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
  // movs, cmps; stos, lods, scas. What else has these opcodes has a ModRM or another map.
  const uint8_t opcode = instruction.opcode;
  return instruction.opcode_map == ZYDIS_OPCODE_MAP_DEFAULT &&
         ((opcode >= 0xa4 && opcode <= 0xa7) || (opcode >= 0xaa && opcode <= 0xaf));
}

}  // namespace hbbp

#endif  // HBBP_LIB_ISA_INSTRUCTION_FORM_H_
