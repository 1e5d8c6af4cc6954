// Parses numbers and times as people type them: 1M, 2.5k, 1e6; 500ms, 5m.
#ifndef HBBP_TOOLS_QUANTITY_H_
#define HBBP_TOOLS_QUANTITY_H_

#include <cstdint>
#include <string>

#include "base/status.h"

namespace hbbp::tools {

// Returns "250000", "250k", "0.25M", "2.5e5" or "0x3d090" as a number; k, M, G and T are powers of
// 1000. The result must be whole.
StatusOr<uint64_t> ParseNumber(const std::string& text);

// Returns "90", "90s", "1.5m", "0.5h", "250ms", "10us" or "5ns" in seconds; without a unit, it is
// seconds.
StatusOr<double> ParseSeconds(const std::string& text);

}  // namespace hbbp::tools

#endif  // HBBP_TOOLS_QUANTITY_H_
