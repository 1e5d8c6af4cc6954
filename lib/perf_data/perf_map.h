// ParsePerfMap reads names of generated code, as JITs write them for perf: /tmp/perf-PID.map.
//
// Lines are "START SIZE NAME", both numbers hexadecimal; a JIT that generates code where older code
// was appends a line.
#ifndef HBBP_LIB_PERF_DATA_PERF_MAP_H_
#define HBBP_LIB_PERF_DATA_PERF_MAP_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/work.h"

namespace hbbp {

struct JitSymbol {
  uint64_t address = 0;
  uint64_t size = 0;  // bytes, at least 1
  std::string_view name;
};

// Returns the symbols in the order of the file, as views into `text`. Other lines are left out.
// With `check`, throws WorkCancelled if it is cancelled.
std::vector<JitSymbol> ParsePerfMap(std::string_view text, CancelCheck* check = nullptr);

}  // namespace hbbp

#endif  // HBBP_LIB_PERF_DATA_PERF_MAP_H_
