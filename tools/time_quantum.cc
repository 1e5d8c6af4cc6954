#include "time_quantum.h"

#include <charconv>

namespace hbbp::tools {
namespace {

struct TimeUnit {
  const char* name;
  double ns;
};
constexpr TimeUnit kUnits[] = {{"s", 1e9}, {"ms", 1e6}, {"us", 1e3}, {"ns", 1}};
constexpr double kShortestNs = 1e6;
constexpr double kLongestNs = 1e15;

}  // namespace

StatusOr<uint64_t> ParseTimeQuantum(const std::string& text) {
  if (text.empty()) return uint64_t{0};
  double number = 0;
  const char* const end = text.data() + text.size();
  const auto [unit, error] = std::from_chars(text.data(), end, number, std::chars_format::fixed);
  for (const TimeUnit& known : kUnits) {
    if (error != std::errc() || std::string(unit, end) != known.name) continue;
    const double ns = number * known.ns;
    if (ns >= kShortestNs && ns <= kLongestNs) return static_cast<uint64_t>(ns);
  }
  return MakeStatus(StatusCode::kInvalidArgument,
                    "--time-quantum %s: not a time of 1ms or more, such as 100ms or 1s",
                    text.c_str());
}

}  // namespace hbbp::tools
