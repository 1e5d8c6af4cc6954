// Widths of slices of time, as perf report --time-quantum takes them.
#ifndef HBBP_TOOLS_TIME_QUANTUM_H_
#define HBBP_TOOLS_TIME_QUANTUM_H_

#include <cstdint>
#include <string>

#include "base/status.h"

namespace hbbp::tools {

// "100ms", "0.5s", "250000us": in ns. 0 if the text is empty.
StatusOr<uint64_t> ParseTimeQuantum(const std::string& text);

}  // namespace hbbp::tools

#endif  // HBBP_TOOLS_TIME_QUANTUM_H_
