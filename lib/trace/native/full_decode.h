// FullDecode is one instruction with all its operands, including hidden ones.
//
// Contract: async-signal-safe; large (about 2 KB), so not for small stacks.
#ifndef HBBP_LIB_TRACE_NATIVE_FULL_DECODE_H_
#define HBBP_LIB_TRACE_NATIVE_FULL_DECODE_H_

#include <Zydis/Zydis.h>

#include <cstddef>
#include <cstdint>

namespace hbbp::trace {

struct FullDecode {
  ZydisDecodedInstruction instruction;
  ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];

  const ZydisDecodedOperand* begin() const { return operands; }
  const ZydisDecodedOperand* end() const { return operands + instruction.operand_count; }
};

inline bool Decode(const uint8_t* code, size_t size, FullDecode* decode) {
  ZydisDecoder decoder;
  ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
  return ZYAN_SUCCESS(
      ZydisDecoderDecodeFull(&decoder, code, size, &decode->instruction, decode->operands));
}

// Returns the number of the register in encodings; it is meaningless if the register has none.
inline unsigned NumberOf(ZydisRegister name) {
  return static_cast<uint8_t>(ZydisRegisterGetId(name));
}

inline ZydisRegister WholeOf(ZydisRegister name) {
  return ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, name);
}

inline bool IsMemory(const ZydisDecodedOperand& operand) {
  return operand.type == ZYDIS_OPERAND_TYPE_MEMORY && operand.mem.type != ZYDIS_MEMOP_TYPE_AGEN;
}

inline bool IsVsib(const ZydisDecodedOperand& operand) {
  return IsMemory(operand) && operand.mem.type == ZYDIS_MEMOP_TYPE_VSIB;
}

inline bool Reads(const ZydisDecodedOperand& operand) {
  return (operand.actions & ZYDIS_OPERAND_ACTION_MASK_READ) != 0;
}

inline bool Writes(const ZydisDecodedOperand& operand) {
  return (operand.actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0;
}

inline bool WritesPerhaps(const ZydisDecodedOperand& operand) {
  return (operand.actions & ZYDIS_OPERAND_ACTION_CONDWRITE) != 0;
}

}  // namespace hbbp::trace

#endif  // HBBP_LIB_TRACE_NATIVE_FULL_DECODE_H_
