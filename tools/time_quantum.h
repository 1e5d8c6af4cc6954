// Parses widths of slices of time, in the form of perf report --time-quantum.
#ifndef HBBP_TOOLS_TIME_QUANTUM_H_
#define HBBP_TOOLS_TIME_QUANTUM_H_

#include <cstdint>
#include <string>

#include "base/status.h"

namespace hbbp::tools {

// Returns "100ms", "0.5s" or "250000us" in ns, and 0 for an empty text.
StatusOr<uint64_t> ParseTimeQuantum(const std::string& text);

}  // namespace hbbp::tools

#endif  // HBBP_TOOLS_TIME_QUANTUM_H_
