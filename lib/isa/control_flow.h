// DecodeControlFlow decodes the length, the branch kind and the target of one instruction.
//
// This is the cheap half of the decoder, for finding basic blocks. It allocates nothing, keeps
// no state and is async-signal-safe, so that trace/ can use it too. decoder.h names mnemonics.
#ifndef HBBP_LIB_ISA_CONTROL_FLOW_H_
#define HBBP_LIB_ISA_CONTROL_FLOW_H_

#include <cstdint>
#include <span>

#include "isa/branch_kind.h"

namespace hbbp {

// Decodes the x86-64 instruction at the start of `code`, which lies at `address`. Returns false if
// the bytes are not an instruction or end inside one.
bool DecodeControlFlow(std::span<const uint8_t> code, uint64_t address, ControlFlow* flow);

// Returns whether the byte is a prefix of segment, size, lock or repetition; REX, VEX and EVEX are
// not.
constexpr bool IsLegacyPrefix(uint8_t byte) {
  switch (byte) {
    case 0x26:
    case 0x2e:
    case 0x36:
    case 0x3e:
    case 0x64:
    case 0x65:
    case 0x66:
    case 0x67:
    case 0xf0:
    case 0xf2:
    case 0xf3:
      return true;
    default:
      return false;
  }
}

}  // namespace hbbp

#endif  // HBBP_LIB_ISA_CONTROL_FLOW_H_
