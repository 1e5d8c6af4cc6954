#include "probes/divisor_operand.h"

#include "isa/zydis_decode.h"

namespace hbbp {

uint64_t DivisorOperand::Value(const std::array<uint64_t, 16>& registers, uint64_t memory) const {
  if (bits == 0) return 0;
  const uint64_t value = source == kMemory ? memory : registers[source] >> first_bit;
  const unsigned unused = 64 - bits;
  if (!is_signed) return value << unused >> unused;
  return static_cast<uint64_t>(static_cast<int64_t>(value << unused) >> unused);
}

DivisorOperand FindDivisorOperand(std::span<const uint8_t> code) {
  DivisorOperand divisor;
  ZydisDecodedInstruction instruction;
  ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
  if (!DecodeOperandsWithZydis(code, &instruction, operands) ||
      (instruction.mnemonic != ZYDIS_MNEMONIC_DIV && instruction.mnemonic != ZYDIS_MNEMONIC_IDIV)) {
    return divisor;
  }
  const ZydisDecodedOperand& operand = operands[0];
  divisor.bits = static_cast<uint8_t>(operand.size);
  divisor.is_signed = instruction.mnemonic == ZYDIS_MNEMONIC_IDIV;
  if (operand.type == ZYDIS_OPERAND_TYPE_MEMORY) {
    divisor.source = DivisorOperand::kMemory;
    return divisor;
  }
  const ZydisRegister reg = operand.reg.value;
  if (reg >= ZYDIS_REGISTER_AH && reg <= ZYDIS_REGISTER_BH) divisor.first_bit = 8;
  divisor.source = static_cast<uint8_t>(
      ZydisRegisterGetId(ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg)));
  return divisor;
}

}  // namespace hbbp
