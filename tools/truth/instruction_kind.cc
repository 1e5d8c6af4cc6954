#include "truth/instruction_kind.h"

#include "isa/control_flow.h"

namespace hbbp::tools {
namespace {

bool IsString(uint8_t opcode) {
  return (opcode >= 0x6c && opcode <= 0x6f) || (opcode >= 0xa4 && opcode <= 0xa7) ||
         (opcode >= 0xaa && opcode <= 0xaf);
}

}  // namespace

InstructionKind ClassifyInstruction(std::span<const uint8_t> bytes) {
  size_t i = 0;
  bool has_rep = false;
  for (; i < bytes.size() && IsLegacyPrefix(bytes[i]); ++i) {
    has_rep = has_rep || bytes[i] == 0xf2 || bytes[i] == 0xf3;
  }
  if (i < bytes.size() && (bytes[i] & 0xf0) == 0x40) ++i;  // REX
  if (i >= bytes.size()) return InstructionKind::kOrdinary;
  const uint8_t opcode = bytes[i];
  const uint8_t next = i + 1 < bytes.size() ? bytes[i + 1] : 0;
  if (has_rep && IsString(opcode)) return InstructionKind::kRepeatedString;
  if (opcode == 0x9c) return InstructionKind::kPushFlags;
  if (opcode == 0x0f && next == 0x05) return InstructionKind::kSystemCall;
  if (opcode == 0x0f && next == 0x34) return InstructionKind::kOtherKernelEntry;
  if (opcode == 0xcd && next == 0x80) return InstructionKind::kOtherKernelEntry;
  return InstructionKind::kOrdinary;
}

}  // namespace hbbp::tools
