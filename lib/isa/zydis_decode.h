// The Zydis decoder as every part of isa/ sets it up, so that all agree on what is valid.
//
// No allocation, no lock, no state: any thread, and signal handlers.
#ifndef HBBP_LIB_ISA_ZYDIS_DECODE_H_
#define HBBP_LIB_ISA_ZYDIS_DECODE_H_

#include <Zydis/Zydis.h>

#include <cstdint>
#include <span>

#include "isa/branch_kind.h"

namespace hbbp {

// Length, mnemonic and raw fields are valid afterwards, operands and attributes are not. The
// decoder is set up anew in each call: that costs about two nanoseconds and leaves no state that
// a signal handler could find half made.
inline bool DecodeWithZydis(std::span<const uint8_t> code, ZydisDecodedInstruction* instruction) {
  ZydisDecoder decoder;
  ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
  ZydisDecoderEnableMode(&decoder, ZYDIS_DECODER_MODE_MINIMAL, ZYAN_TRUE);
  return ZYAN_SUCCESS(
      ZydisDecoderDecodeInstruction(&decoder, nullptr, code.data(), code.size(), instruction));
}

// Of an instruction that lies at `address`.
ControlFlow ControlFlowOf(const ZydisDecodedInstruction& instruction, uint64_t address);

}  // namespace hbbp

#endif  // HBBP_LIB_ISA_ZYDIS_DECODE_H_
