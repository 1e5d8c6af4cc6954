// Parses numbers and times as people type them: 1M, 2.5k, 1e6; 500ms, 5m.
#ifndef HBBP_LIB_BASE_QUANTITY_H_
#define HBBP_LIB_BASE_QUANTITY_H_

#include <charconv>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "base/status.h"

namespace hbbp {

struct NamedUnit {
  std::string_view name;
  double factor;
};

// Returns the number before the name of one of `units`, times its factor; nothing for any other
// text.
std::optional<double> ParseWithUnit(std::string_view text, std::span<const NamedUnit> units,
                                    std::chars_format format = std::chars_format::general);

// Returns "250000", "250k", "0.25M", "2.5e5" or "0x3d090" as a number; k, M, G and T are powers of
// 1000. The result must be whole.
StatusOr<uint64_t> ParseNumber(std::string_view text);

// Returns "90", "90s", "1.5m", "0.5h", "250ms", "10us" or "5ns" in seconds; without a unit, it is
// seconds.
StatusOr<double> ParseSeconds(std::string_view text);

// Returns "2%", "2 %" or "0.02" as a number, which is not negative.
StatusOr<double> ParseShare(std::string_view text);

}  // namespace hbbp

#endif  // HBBP_LIB_BASE_QUANTITY_H_
