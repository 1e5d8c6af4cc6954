// BytesOfHex reads what build IDs are written as: two digits a byte, without anything between.
#ifndef HBBP_LIB_BASE_HEX_BYTES_H_
#define HBBP_LIB_BASE_HEX_BYTES_H_

#include <charconv>
#include <cstdint>
#include <string_view>
#include <system_error>
#include <vector>

namespace hbbp {

// Returns nothing if there is anything but digits. A last digit alone is left out.
inline std::vector<uint8_t> BytesOfHex(std::string_view text) {
  std::vector<uint8_t> bytes;
  for (; text.size() >= 2; text.remove_prefix(2)) {
    uint8_t byte = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + 2, byte, 16);
    if (error != std::errc() || end != text.data() + 2) return {};
    bytes.push_back(byte);
  }
  return bytes;
}

}  // namespace hbbp

#endif  // HBBP_LIB_BASE_HEX_BYTES_H_
