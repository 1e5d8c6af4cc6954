// Takes lines of text apart.
#ifndef HBBP_LIB_PERF_DATA_TEXT_WORDS_H_
#define HBBP_LIB_PERF_DATA_TEXT_WORDS_H_

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <system_error>

namespace hbbp {

inline constexpr std::string_view kBlanks = " \t\r";

// Takes the next word, which is empty at the end.
inline std::string_view NextWord(std::string_view* rest) {
  const size_t start = rest->find_first_not_of(kBlanks);
  if (start == std::string_view::npos) {
    *rest = {};
    return {};
  }
  rest->remove_prefix(start);
  const std::string_view word = rest->substr(0, rest->find_first_of(kBlanks));
  rest->remove_prefix(word.size());
  return word;
}

// Returns nothing if something is behind the number.
template <typename Number>
std::optional<Number> ParseWhole(std::string_view text, int base) {
  Number number;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// The number may begin with 0x.
inline std::optional<uint64_t> ParseHex(std::string_view text) {
  if (text.starts_with("0x")) text.remove_prefix(2);
  return ParseWhole<uint64_t>(text, 16);
}

}  // namespace hbbp

#endif  // HBBP_LIB_PERF_DATA_TEXT_WORDS_H_
