// The bytes that may stand in front of an opcode.
#ifndef HBBP_LIB_ISA_LEGACY_PREFIX_H_
#define HBBP_LIB_ISA_LEGACY_PREFIX_H_

#include <cstdint>

namespace hbbp {

// Segments, sizes, lock, repetition; not REX, VEX and EVEX.
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

#endif  // HBBP_LIB_ISA_LEGACY_PREFIX_H_
