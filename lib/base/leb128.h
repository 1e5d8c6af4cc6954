// Reads and writes numbers of 7 bits a byte, as DWARF and other sections of ELF files have them.
#ifndef HBBP_LIB_BASE_LEB128_H_
#define HBBP_LIB_BASE_LEB128_H_

#include <cstdint>

#include "base/byte_cursor.h"

namespace hbbp {

// Both return false if the number is cut off or has more than ten bytes. Bits above the 64th are
// dropped.
inline bool ReadUleb128(ByteCursor* cursor, uint64_t* value) {
  *value = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    uint8_t byte;
    if (!cursor->Read(&byte)) return false;
    *value |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if ((byte & 0x80) == 0) return true;
  }
  return false;
}

// Stores a negative number as its two's complement.
inline bool ReadSleb128(ByteCursor* cursor, uint64_t* value) {
  const size_t start = cursor->position();
  if (!ReadUleb128(cursor, value)) return false;
  const auto bits = static_cast<unsigned>(7 * (cursor->position() - start));
  if (bits < 64 && (*value >> (bits - 1)) != 0) *value |= ~0ull << bits;
  return true;
}

// Make numbers of small differences, up or down, small: d is 2d, and -d is 2d - 1.
constexpr uint64_t ToZigzag(uint64_t difference) {
  return difference << 1 ^ (0 - (difference >> 63));
}
constexpr uint64_t FromZigzag(uint64_t number) { return (number >> 1) ^ (0 - (number & 1)); }

// Appends the bytes of a number to a string or a list.
template <typename Bytes>
void AppendUleb128(uint64_t number, Bytes* bytes) {
  using Byte = typename Bytes::value_type;
  for (; number >= 0x80; number >>= 7) {
    bytes->push_back(static_cast<Byte>((number & 0x7f) | 0x80));
  }
  bytes->push_back(static_cast<Byte>(number));
}

}  // namespace hbbp

#endif  // HBBP_LIB_BASE_LEB128_H_
