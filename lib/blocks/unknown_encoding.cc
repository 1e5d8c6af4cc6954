#include "blocks/unknown_encoding.h"

#include <optional>

#include "isa/branch_kind.h"

namespace hbbp {
namespace {

constexpr uint8_t kVex2 = 0xc5;
constexpr uint8_t kVex3 = 0xc4;
constexpr uint8_t kEvex = 0x62;
constexpr uint8_t kXop = 0x8f;

// Returns whether the prefix takes the opcode from that map with an immediate of one byte.
bool HasByteImmediate(uint8_t prefix, uint8_t map, uint8_t opcode) {
  if (prefix == kXop) return map == 8;
  if (map == 3) return true;
  // pshuf, shifts, vcmp, vpinsrw, vpextrw and vshufps
  return map == 1 && ((0x70 <= opcode && opcode <= 0x73) || opcode == 0xc2 ||
                      (0xc4 <= opcode && opcode <= 0xc6));
}

// Returns nothing if opcodes of the map differ in their forms, as those of APX do, or if there is
// no such map.
std::optional<size_t> ImmediateSize(uint8_t prefix, uint8_t map, uint8_t opcode) {
  if (HasByteImmediate(prefix, map, opcode)) return 1;
  switch (map) {
    case 1:
    case 2:
    case 5:
      return prefix == kXop ? std::nullopt : std::optional<size_t>(0);
    case 6:
      return prefix == kEvex ? std::optional<size_t>(0) : std::nullopt;
    case 7:
      return prefix == kXop ? std::nullopt : std::optional<size_t>(4);
    case 9:
      return prefix == kXop ? std::optional<size_t>(0) : std::nullopt;
    case 10:
      return prefix == kXop ? std::optional<size_t>(4) : std::nullopt;
    default:
      return std::nullopt;
  }
}

// Returns the size of ModRM, SIB and displacement.
size_t OperandSize(uint8_t modrm, uint8_t sib) {
  const int mod = modrm >> 6;
  const int rm = modrm & 7;
  if (mod == 3) return 1;
  const bool has_sib = rm == 4;
  const size_t size = has_sib ? 2 : 1;
  if (mod == 1) return size + 1;
  const bool has_displacement = mod == 2 || rm == 5 || (has_sib && (sib & 7) == 5);
  return has_displacement ? size + 4 : size;
}

}  // namespace

size_t LengthOfUnknown(std::span<const uint8_t> code) {
  size_t position = 0;
  // Prefixes of segment and address size may come first.
  const auto is_prefix = [](uint8_t byte) {
    return byte == 0x26 || byte == 0x2e || byte == 0x36 || byte == 0x3e ||
           (0x64 <= byte && byte <= 0x67 && byte != 0x66);
  };
  while (position < code.size() && is_prefix(code[position])) ++position;
  if (code.size() - position < 4) return 0;
  const auto encoding = code.subspan(position);
  const uint8_t prefix = encoding[0];
  size_t opcode = 0;
  uint8_t map = 1;
  switch (prefix) {
    case kVex2:
      opcode = 2;
      break;
    case kVex3:
    case kXop:
      opcode = 3;
      map = encoding[1] & 0x1f;
      // Less is the operand of pop.
      if (prefix == kXop && map < 8) return 0;
      break;
    case kEvex:
      opcode = 4;
      map = encoding[1] & 7;
      break;
    default:
      return 0;
  }
  const size_t modrm = opcode + 1;
  if (modrm >= encoding.size()) return 0;
  const auto immediate = ImmediateSize(prefix, map, encoding[opcode]);
  if (!immediate) return 0;
  const uint8_t sib = modrm + 1 < encoding.size() ? encoding[modrm + 1] : 0;
  const size_t length = position + modrm + OperandSize(encoding[modrm], sib) + *immediate;
  return length <= code.size() && length <= kMaxInstructionLength ? length : 0;
}

}  // namespace hbbp
