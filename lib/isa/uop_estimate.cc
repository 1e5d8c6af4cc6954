#include "isa/uop_estimate.h"

#include <algorithm>

#include "isa/instruction_form.h"

namespace hbbp {
namespace {

// Returns whether the instruction reads, changes and writes back the operand of its ModRM byte.
bool ChangesOperand(const ZydisDecodedInstruction& instruction) {
  const uint8_t opcode = instruction.opcode;
  const bool is_one_byte = instruction.opcode_map == ZYDIS_OPCODE_MAP_DEFAULT;
  switch (instruction.mnemonic) {
    case ZYDIS_MNEMONIC_ADC:
    case ZYDIS_MNEMONIC_ADD:
    case ZYDIS_MNEMONIC_AND:
    case ZYDIS_MNEMONIC_OR:
    case ZYDIS_MNEMONIC_SBB:
    case ZYDIS_MNEMONIC_SUB:
    case ZYDIS_MNEMONIC_XOR:
      // Opcodes 80 to 83 have an immediate; in lower ones bit 1 says that the register is the
      // destination.
      return is_one_byte && (opcode >= 0x80 || (opcode & 2) == 0);
    case ZYDIS_MNEMONIC_BTC:
    case ZYDIS_MNEMONIC_BTR:
    case ZYDIS_MNEMONIC_BTS:
    case ZYDIS_MNEMONIC_DEC:
    case ZYDIS_MNEMONIC_INC:
    case ZYDIS_MNEMONIC_NEG:
    case ZYDIS_MNEMONIC_NOT:
    case ZYDIS_MNEMONIC_RCL:
    case ZYDIS_MNEMONIC_RCR:
    case ZYDIS_MNEMONIC_ROL:
    case ZYDIS_MNEMONIC_ROR:
    case ZYDIS_MNEMONIC_SAR:
    case ZYDIS_MNEMONIC_SHL:
    case ZYDIS_MNEMONIC_SHR:
      return true;
    default:
      return false;
  }
}

bool IsWideArithmetic(const ZydisDecodedInstruction& instruction) {
  constexpr uint8_t kGroup3[] = {0xf6, 0xf7};
  const bool is_group3 =
      instruction.opcode_map == ZYDIS_OPCODE_MAP_DEFAULT &&
      std::find(std::begin(kGroup3), std::end(kGroup3), instruction.opcode) != std::end(kGroup3);
  switch (instruction.mnemonic) {
    case ZYDIS_MNEMONIC_DIV:
    case ZYDIS_MNEMONIC_IDIV:
    case ZYDIS_MNEMONIC_MUL:
    case ZYDIS_MNEMONIC_MULX:
      return true;
    case ZYDIS_MNEMONIC_IMUL:
      return is_group3;
    default:
      return false;
  }
}

double UopsOf(const ZydisDecodedInstruction& instruction) {
  const bool has_memory = HasMemory(instruction);
  switch (instruction.mnemonic) {
    case ZYDIS_MNEMONIC_CMPXCHG:
    case ZYDIS_MNEMONIC_CMPXCHG8B:
    case ZYDIS_MNEMONIC_CMPXCHG16B:
    case ZYDIS_MNEMONIC_XADD:
      return 4;
    case ZYDIS_MNEMONIC_XCHG:
      return has_memory ? 4 : 2;
    case ZYDIS_MNEMONIC_CALL:
    case ZYDIS_MNEMONIC_LEAVE:
      return 2;
    case ZYDIS_MNEMONIC_PUSH:
    case ZYDIS_MNEMONIC_POP:
      return has_memory ? 2 : 1;
    default:
      break;
  }
  if (IsStringOperation(instruction)) return 8;
  if (IsWideArithmetic(instruction)) return 2;
  if (has_memory && ChangesOperand(instruction)) return IsLocked(instruction) ? 4 : 2;
  return 1;
}

bool IsComparison(const ZydisDecodedInstruction& instruction) {
  return instruction.mnemonic == ZYDIS_MNEMONIC_CMP || instruction.mnemonic == ZYDIS_MNEMONIC_TEST;
}

// The opcodes are 70 to 7f and 0f 80 to 0f 8f.
bool IsConditionalJump(const ZydisDecodedInstruction& instruction) {
  const int high = instruction.opcode >> 4;
  return instruction.opcode_map == ZYDIS_OPCODE_MAP_DEFAULT ? high == 7
         : instruction.opcode_map == ZYDIS_OPCODE_MAP_0F    ? high == 8
                                                            : false;
}

}  // namespace

double EstimateUops(std::span<const uint8_t> code) {
  double uops = 0;
  bool follows_comparison = false;
  ZydisDecodedInstruction instruction;
  while (!code.empty() && DecodeWithZydis(code, &instruction)) {
    const bool is_fused = follows_comparison && IsConditionalJump(instruction);
    if (!is_fused) uops += UopsOf(instruction);
    follows_comparison = IsComparison(instruction);
    code = code.subspan(instruction.length);
  }
  return std::max(uops, 1.0);
}

}  // namespace hbbp
