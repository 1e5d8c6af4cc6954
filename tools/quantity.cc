#include "quantity.h"

#include <charconv>
#include <cmath>
#include <span>
#include <string_view>

namespace hbbp::tools {
namespace {

struct Unit {
  std::string_view name;
  double factor;
};
constexpr Unit kMultiples[] = {{"", 1},    {"k", 1e3}, {"K", 1e3},
                               {"M", 1e6}, {"G", 1e9}, {"T", 1e12}};
constexpr Unit kTimes[] = {{"", 1},      {"s", 1},  {"ms", 1e-3}, {"us", 1e-6},
                           {"ns", 1e-9}, {"m", 60}, {"min", 60},  {"h", 3600}};

// Returns a negative number if the text is not a number of one of these units.
double ParseWithUnit(const std::string& text, std::span<const Unit> units) {
  double number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || !std::isfinite(number)) return -1;
  for (const Unit& unit : units) {
    if (std::string_view(rest, end) == unit.name) return number * unit.factor;
  }
  return -1;
}

}  // namespace

StatusOr<uint64_t> ParseNumber(const std::string& text) {
  const bool is_hex = text.starts_with("0x") || text.starts_with("0X");
  uint64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto whole = std::from_chars(text.data() + (is_hex ? 2 : 0), end, number, is_hex ? 16 : 10);
  if (whole.ec == std::errc() && whole.ptr == end) return number;
  constexpr double kTwoTo64 = 18446744073709551616.0;
  const double value = is_hex ? -1 : ParseWithUnit(text, kMultiples);
  if (value >= 0 && value < kTwoTo64 && value == std::floor(value)) {
    return static_cast<uint64_t>(value);
  }
  return MakeStatus(StatusCode::kInvalidArgument,
                    "%s is not a whole number, such as 250000, 250k, 1M or 1e6", text.c_str());
}

StatusOr<double> ParseSeconds(const std::string& text) {
  const double seconds = ParseWithUnit(text, kTimes);
  if (seconds >= 0) return seconds;
  return MakeStatus(StatusCode::kInvalidArgument,
                    "%s is not a time, such as 10, 500ms, 1.5s, 5m or 1h", text.c_str());
}

}  // namespace hbbp::tools
