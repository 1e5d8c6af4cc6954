#include "probes/written_registers.h"

#include "isa/zydis_decode.h"

namespace hbbp {

RegisterSet FindWrittenRegisters(std::span<const uint8_t> code) {
  ZydisDecodedInstruction instruction;
  ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
  if (!DecodeOperandsWithZydis(code, &instruction, operands)) {
    return static_cast<RegisterSet>(~RegisterSet{0});
  }
  RegisterSet written = 0;
  for (const ZydisDecodedOperand& operand : std::span(operands).first(instruction.operand_count)) {
    const bool is_written = operand.type == ZYDIS_OPERAND_TYPE_REGISTER &&
                            (operand.actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0;
    if (!is_written) continue;
    const ZydisRegister whole =
        ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, operand.reg.value);
    if (ZydisRegisterGetClass(whole) != ZYDIS_REGCLASS_GPR64) continue;
    written |= static_cast<RegisterSet>(1u << ZydisRegisterGetId(whole));
  }
  return written;
}

}  // namespace hbbp
