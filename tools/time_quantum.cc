#include "time_quantum.h"

#include <charconv>
#include <optional>

#include "base/quantity.h"

namespace hbbp::tools {
namespace {

constexpr NamedUnit kUnits[] = {{"s", 1e9}, {"ms", 1e6}, {"us", 1e3}, {"ns", 1}};
constexpr double kShortestNs = 1e6;
constexpr double kLongestNs = 1e15;

}  // namespace

StatusOr<uint64_t> ParseTimeQuantum(const std::string& text) {
  if (text.empty()) return uint64_t{0};
  const std::optional<double> ns = ParseWithUnit(text, kUnits, std::chars_format::fixed);
  if (ns && *ns >= kShortestNs && *ns <= kLongestNs) return static_cast<uint64_t>(*ns);
  return MakeStatus(StatusCode::kInvalidArgument,
                    "--time-quantum %s: not a time of 1ms or more, such as 100ms or 1s",
                    text.c_str());
}

}  // namespace hbbp::tools
