#include "unit/trace/instruction_case.h"

#include <Zydis/Zydis.h>

#include <cstdio>
#include <cstring>

namespace hbbp::testing {
namespace {

struct Decoded {
  ZydisDecodedInstruction instruction;
  ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
  bool is_valid = false;
};

Decoded Decode(std::span<const uint8_t> code) {
  Decoded decoded;
  ZydisDecoder decoder;
  ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
  decoded.is_valid = ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, code.data(), code.size(),
                                                         &decoded.instruction, decoded.operands));
  return decoded;
}

const ZydisDecodedOperand* MemoryOperand(const Decoded& decoded) {
  for (unsigned i = 0; i < decoded.instruction.operand_count; ++i) {
    const ZydisDecodedOperand& operand = decoded.operands[i];
    if (operand.type == ZYDIS_OPERAND_TYPE_MEMORY && operand.mem.type == ZYDIS_MEMOP_TYPE_MEM) {
      return &operand;
    }
  }
  return nullptr;
}

bool PatchDisplacement(const Decoded& decoded, uint64_t value, InstructionBytes* code) {
  const auto displacement = static_cast<int32_t>(value);
  if (static_cast<int64_t>(value) != displacement || decoded.instruction.raw.disp.size != 32) {
    return false;
  }
  std::memcpy(code->data() + decoded.instruction.raw.disp.offset, &displacement, 4);
  return true;
}

// Solves x * factor == value, modulo 2^64.
bool Divide(uint64_t value, unsigned factor, uint64_t* quotient) {
  if (factor == 2) {
    *quotient = value / 2;
    return value % 2 == 0;
  }
  uint64_t inverse = factor;  // Newton: each step doubles the number of right bits
  for (int i = 0; i < 6; ++i) inverse *= 2 - factor * inverse;
  *quotient = value * inverse;
  return true;
}

}  // namespace

std::string TextOf(std::span<const uint8_t> code) {
  const Decoded decoded = Decode(code);
  std::string text = "?";
  if (decoded.is_valid) {
    ZydisFormatter formatter;
    ZydisFormatterInit(&formatter, ZYDIS_FORMATTER_STYLE_INTEL);
    char buffer[128];
    ZydisFormatterFormatInstruction(&formatter, &decoded.instruction, decoded.operands,
                                    decoded.instruction.operand_count_visible, buffer,
                                    sizeof(buffer), ZYDIS_RUNTIME_ADDRESS_NONE, nullptr);
    text = buffer;
  }
  text += " (";
  for (const uint8_t byte : code) {
    char hex[4];
    std::snprintf(hex, sizeof(hex), "%02x ", byte);
    text += hex;
  }
  text.back() = ')';
  return text;
}

std::string MnemonicOf(std::span<const uint8_t> code) {
  const Decoded decoded = Decode(code);
  return decoded.is_valid ? ZydisMnemonicGetString(decoded.instruction.mnemonic) : "?";
}

bool TouchesMemoryUnderMask(std::span<const uint8_t> code) {
  const Decoded decoded = Decode(code);
  return decoded.instruction.avx.mask.reg != ZYDIS_REGISTER_NONE ||
         MnemonicOf(code).find("maskmov") != std::string::npos;
}

bool LoadsSegment(std::span<const uint8_t> code) {
  const Decoded decoded = Decode(code);
  for (unsigned i = 0; i < decoded.instruction.operand_count; ++i) {
    const ZydisDecodedOperand& operand = decoded.operands[i];
    if (operand.type == ZYDIS_OPERAND_TYPE_REGISTER &&
        ZydisRegisterGetClass(operand.reg.value) == ZYDIS_REGCLASS_SEGMENT &&
        (operand.actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0) {
      return true;
    }
  }
  return false;
}

uint64_t UndefinedFlags(std::span<const uint8_t> code) {
  const Decoded decoded = Decode(code);
  return decoded.instruction.cpu_flags == nullptr ? 0 : decoded.instruction.cpu_flags->undefined;
}

bool PointOperandAt(uint64_t target, uint64_t code_address, InstructionBytes* code, Random* random,
                    trace::MachineState* state) {
  const Decoded decoded = Decode(*code);
  const ZydisDecodedOperand* operand = MemoryOperand(decoded);
  if (operand == nullptr) return false;
  const auto& memory = operand->mem;
  const auto number = [](ZydisRegister name) {
    return static_cast<unsigned>(ZydisRegisterGetId(name));
  };
  uint64_t rest = target;
  if (memory.segment == ZYDIS_REGISTER_FS) rest -= state->fs_base;
  if (memory.segment == ZYDIS_REGISTER_GS) rest -= state->gs_base;
  if (memory.base == ZYDIS_REGISTER_RIP) {
    return PatchDisplacement(decoded, rest - code_address - code->size(), code);
  }
  if (memory.base == ZYDIS_REGISTER_NONE) {
    if (memory.index != ZYDIS_REGISTER_NONE) {
      uint64_t& index = state->gpr[number(memory.index)];
      index = (*random)() % 4096;
      rest -= index * memory.scale;
    }
    return PatchDisplacement(decoded, rest, code);
  }
  if (memory.disp.has_displacement) rest -= static_cast<uint64_t>(memory.disp.value);
  uint64_t& base = state->gpr[number(memory.base)];
  if (memory.index == memory.base) return Divide(rest, 1u + memory.scale, &base);
  if (memory.index != ZYDIS_REGISTER_NONE) rest -= state->gpr[number(memory.index)] * memory.scale;
  base = rest;
  return true;
}

}  // namespace hbbp::testing
