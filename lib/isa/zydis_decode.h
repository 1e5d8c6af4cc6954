// Every part of isa/ decodes through DecodeWithZydis, so that all agree on which instructions are
// valid.
//
// It does not allocate or lock and keeps no state, so that any thread and signal handlers may call
// it.
#ifndef HBBP_LIB_ISA_ZYDIS_DECODE_H_
#define HBBP_LIB_ISA_ZYDIS_DECODE_H_

#include <Zydis/Zydis.h>

#include <cstdint>
#include <span>

#include "isa/branch_kind.h"

namespace hbbp {

// Length, mnemonic and raw fields are valid afterwards, operands and attributes are not. Each call
// initializes a decoder: that costs about two nanoseconds and leaves no state that a signal handler
// could find half initialized.
inline bool DecodeWithZydis(std::span<const uint8_t> code, ZydisDecodedInstruction* instruction) {
  ZydisDecoder decoder;
  ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
  ZydisDecoderEnableMode(&decoder, ZYDIS_DECODER_MODE_MINIMAL, ZYAN_TRUE);
  return ZYAN_SUCCESS(
      ZydisDecoderDecodeInstruction(&decoder, nullptr, code.data(), code.size(), instruction));
}

// Decodes all operands too, which takes longer.
inline bool DecodeOperandsWithZydis(std::span<const uint8_t> code,
                                    ZydisDecodedInstruction* instruction,
                                    ZydisDecodedOperand (&operands)[ZYDIS_MAX_OPERAND_COUNT]) {
  ZydisDecoder decoder;
  ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
  return ZYAN_SUCCESS(
      ZydisDecoderDecodeFull(&decoder, code.data(), code.size(), instruction, operands));
}

// The instruction lies at `address`.
ControlFlow MakeControlFlow(const ZydisDecodedInstruction& instruction, uint64_t address);

}  // namespace hbbp

#endif  // HBBP_LIB_ISA_ZYDIS_DECODE_H_
