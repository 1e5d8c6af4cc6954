#include "byte_count.h"

#include <optional>

#include "base/quantity.h"

namespace hbbp::tools {
namespace {

constexpr double kMaxBytes = 1e15;
constexpr NamedUnit kBytes[] = {{"", 1},          {"k", 1e3},       {"K", 1e3},
                                {"M", 1e6},       {"G", 1e9},       {"T", 1e12},
                                {"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}};

std::string InBinaryUnits(uint64_t bytes) {
  constexpr uint64_t kKibi = 1 << 10, kMebi = 1 << 20;
  return bytes % kMebi == 0 ? std::to_string(bytes / kMebi) + "MiB"
                            : std::to_string(bytes / kKibi) + "KiB";
}

}  // namespace

StatusOr<uint64_t> ParseByteCount(const char* option, const std::string& text, uint64_t min_bytes) {
  if (text.empty()) return uint64_t{0};
  const std::optional<double> bytes = ParseWithUnit(text, kBytes);
  if (!bytes || *bytes < 0 || *bytes > kMaxBytes) {
    return MakeStatus(StatusCode::kInvalidArgument,
                      "%s: %s is not a number of bytes, such as 64M, 64MiB or 1G", option,
                      text.c_str());
  }
  if (*bytes >= static_cast<double>(min_bytes)) return static_cast<uint64_t>(*bytes);
  return MakeStatus(StatusCode::kInvalidArgument,
                    "%s: %s is less than %s (%llu bytes), which is the minimum", option,
                    text.c_str(), InBinaryUnits(min_bytes).c_str(),
                    static_cast<unsigned long long>(min_bytes));
}

}  // namespace hbbp::tools
