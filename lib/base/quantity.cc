#include "base/quantity.h"

#include <cmath>
#include <string>

namespace hbbp {
namespace {

constexpr NamedUnit kMultiples[] = {{"", 1},    {"k", 1e3}, {"K", 1e3},
                                    {"M", 1e6}, {"G", 1e9}, {"T", 1e12}};
constexpr NamedUnit kPlain[] = {{"", 1}};
constexpr NamedUnit kTimes[] = {{"", 1},      {"s", 1},  {"ms", 1e-3}, {"us", 1e-6},
                                {"ns", 1e-9}, {"m", 60}, {"min", 60},  {"h", 3600}};

Status NotA(std::string_view text, const char* what) {
  return MakeStatus(StatusCode::kInvalidArgument, "%s is not a %s", std::string(text).c_str(),
                    what);
}

}  // namespace

std::optional<double> ParseWithUnit(std::string_view text, std::span<const NamedUnit> units,
                                    std::chars_format format) {
  double number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number, format);
  if (error != std::errc() || !std::isfinite(number)) return std::nullopt;
  const std::string_view name(rest, static_cast<size_t>(end - rest));
  for (const NamedUnit& unit : units) {
    if (name == unit.name) return number * unit.factor;
  }
  return std::nullopt;
}

StatusOr<uint64_t> ParseNumber(std::string_view text) {
  const bool is_hex = text.starts_with("0x") || text.starts_with("0X");
  uint64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto whole = std::from_chars(text.data() + (is_hex ? 2 : 0), end, number, is_hex ? 16 : 10);
  if (whole.ec == std::errc() && whole.ptr == end) return number;
  constexpr double kTwoTo64 = 18446744073709551616.0;
  constexpr double kRoundingError = 1e-12;  // 1.005 times 1,000 is not quite 1,005
  const double value = is_hex ? -1 : ParseWithUnit(text, kMultiples).value_or(-1);
  const double nearest = std::round(value);
  const bool is_whole = std::fabs(value - nearest) <= kRoundingError * value;
  if (value >= 0 && nearest < kTwoTo64 && is_whole) return static_cast<uint64_t>(nearest);
  return NotA(text, "whole number, such as 250000, 250k, 1M or 1e6");
}

StatusOr<double> ParseSeconds(std::string_view text) {
  const std::optional<double> seconds = ParseWithUnit(text, kTimes);
  if (seconds && *seconds >= 0) return *seconds;
  return NotA(text, "time, such as 10, 500ms, 1.5s, 5m or 1h");
}

StatusOr<double> ParseShare(std::string_view text) {
  constexpr double kPercent = 100;
  std::string_view number = text;
  const bool is_percent = number.ends_with('%');
  if (is_percent) number.remove_suffix(1);
  if (is_percent && number.ends_with(' ')) number.remove_suffix(1);
  const std::optional<double> value = ParseWithUnit(number, kPlain);
  // 7 divided by 100 is 0.07, and 7 times 0.01 is not.
  if (value && *value >= 0) return is_percent ? *value / kPercent : *value;
  return NotA(text, "share, such as 1% or 0.01");
}

}  // namespace hbbp
