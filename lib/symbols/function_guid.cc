#include "symbols/function_guid.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>

namespace hbbp {
namespace {

constexpr size_t kBlockBytes = 64;
constexpr int kSteps = 64;

using State = std::array<uint32_t, 4>;
using Block = std::array<uint8_t, kBlockBytes>;

// RFC 1321 defines them as the integer parts of 2^32 * |sin(i)|, for i from 1 on.
std::array<uint32_t, kSteps> MakeSines() {
  std::array<uint32_t, kSteps> sines{};
  for (int i = 0; i < kSteps; ++i) {
    sines[static_cast<size_t>(i)] =
        static_cast<uint32_t>(std::ldexp(std::fabs(std::sin(i + 1)), 32));
  }
  return sines;
}

void AddBlock(const Block& block, State* state) {
  static const std::array<uint32_t, kSteps> sines = MakeSines();
  constexpr int kShifts[4][4] = {{7, 12, 17, 22}, {5, 9, 14, 20}, {4, 11, 16, 23}, {6, 10, 15, 21}};
  constexpr uint32_t kFactors[] = {1, 5, 3, 7}, kOffsets[] = {0, 1, 5, 0};
  auto [a, b, c, d] = *state;
  for (uint32_t i = 0; i < kSteps; ++i) {
    const uint32_t round = i / 16;
    const uint32_t mixed[] = {(b & c) | (~b & d), (d & b) | (~d & c), b ^ c ^ d, c ^ (b | ~d)};
    uint32_t word;
    std::memcpy(&word, &block[(kFactors[round] * i + kOffsets[round]) % 16 * sizeof(word)],
                sizeof(word));
    const uint32_t sum = a + mixed[round] + sines[i] + word;
    a = d;
    d = c;
    c = b;
    b += std::rotl(sum, kShifts[round][i % 4]);
  }
  *state = {(*state)[0] + a, (*state)[1] + b, (*state)[2] + c, (*state)[3] + d};
}

}  // namespace

uint64_t FunctionGuid(std::string_view linkage_name) {
  constexpr uint8_t kEndMark = 0x80;
  State state = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476};
  const uint64_t bits = linkage_name.size() * 8;
  Block block;
  while (linkage_name.size() >= kBlockBytes) {
    std::copy_n(linkage_name.begin(), kBlockBytes, block.begin());
    AddBlock(block, &state);
    linkage_name.remove_prefix(kBlockBytes);
  }
  block.fill(0);
  std::ranges::copy(linkage_name, block.begin());
  block[linkage_name.size()] = kEndMark;
  if (linkage_name.size() + 1 + sizeof(bits) > kBlockBytes) {
    AddBlock(block, &state);
    block.fill(0);
  }
  std::memcpy(block.data() + kBlockBytes - sizeof(bits), &bits, sizeof(bits));
  AddBlock(block, &state);
  return state[0] | static_cast<uint64_t>(state[1]) << 32;
}

}  // namespace hbbp
