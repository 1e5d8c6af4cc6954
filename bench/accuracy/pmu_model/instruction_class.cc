#include "pmu_model/instruction_class.h"

#include <string_view>

#include "isa/zydis_decode.h"

namespace hbbp::simulation {
namespace {

bool ReadsMemory(const ZydisDecodedInstruction& instruction) {
  switch (instruction.mnemonic) {
    case ZYDIS_MNEMONIC_POP:
    case ZYDIS_MNEMONIC_RET:
    case ZYDIS_MNEMONIC_LEAVE:
      return true;
    case ZYDIS_MNEMONIC_LEA:
    case ZYDIS_MNEMONIC_NOP:
      return false;
    default:
      break;
  }
  if (instruction.raw.modrm.offset == 0 || instruction.raw.modrm.mod == 3) return false;
  // These are the plain stores of compilers, by opcode; everything else with an operand in memory
  // reads it.
  const bool is_one_byte = instruction.opcode_map == ZYDIS_OPCODE_MAP_DEFAULT;
  const bool is_two_byte = instruction.opcode_map == ZYDIS_OPCODE_MAP_0F;
  const uint8_t opcode = instruction.opcode;
  if (is_one_byte) return opcode != 0x88 && opcode != 0x89 && opcode != 0xc6 && opcode != 0xc7;
  if (is_two_byte) return opcode != 0x11 && opcode != 0x29 && opcode != 0x7f && opcode != 0xd6;
  return true;
}

// Accepts "div" in "vdivsd", "divsd" and "fdiv", and so on.
bool Names(std::string_view mnemonic, std::string_view operation) {
  for (const std::string_view prefix : {"", "v", "f", "i", "fi", "p", "vp"}) {
    if (mnemonic.starts_with(prefix) && mnemonic.substr(prefix.size()).starts_with(operation)) {
      return true;
    }
  }
  return false;
}

}  // namespace

InstructionClass ClassOf(std::span<const uint8_t> code) {
  ZydisDecodedInstruction instruction;
  if (!DecodeWithZydis(code, &instruction)) return InstructionClass::kSimple;
  switch (instruction.mnemonic) {
    case ZYDIS_MNEMONIC_SYSCALL:
    case ZYDIS_MNEMONIC_SYSENTER:
    case ZYDIS_MNEMONIC_CPUID:
    case ZYDIS_MNEMONIC_XGETBV:
    case ZYDIS_MNEMONIC_MFENCE:
    case ZYDIS_MNEMONIC_LFENCE:
      return InstructionClass::kSerialise;
    case ZYDIS_MNEMONIC_FPREM:
    case ZYDIS_MNEMONIC_FPREM1:
      return InstructionClass::kDivide;
    case ZYDIS_MNEMONIC_FSIN:
    case ZYDIS_MNEMONIC_FCOS:
    case ZYDIS_MNEMONIC_FPTAN:
    case ZYDIS_MNEMONIC_FPATAN:
    case ZYDIS_MNEMONIC_FYL2X:
      return InstructionClass::kSquareRoot;
    default:
      break;
  }
  const char* name = ZydisMnemonicGetString(instruction.mnemonic);
  const std::string_view mnemonic = name == nullptr ? "" : name;
  if (Names(mnemonic, "div")) return InstructionClass::kDivide;
  if (Names(mnemonic, "sqrt")) return InstructionClass::kSquareRoot;
  if (Names(mnemonic, "mul")) return InstructionClass::kMultiply;
  const bool is_float = mnemonic.ends_with("ss") || mnemonic.ends_with("sd") ||
                        mnemonic.ends_with("ps") || mnemonic.ends_with("pd") ||
                        mnemonic.starts_with('f');
  if (is_float && (Names(mnemonic, "add") || Names(mnemonic, "sub"))) {
    return InstructionClass::kMultiply;
  }
  return ReadsMemory(instruction) ? InstructionClass::kLoad : InstructionClass::kSimple;
}

}  // namespace hbbp::simulation
