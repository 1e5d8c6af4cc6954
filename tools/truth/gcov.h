// Reads counts of source lines, as `gcov --json-format --stdout` (gcc 9 and later) or `gcov
// --intermediate-format` (before) writes them.
#ifndef HBBP_TOOLS_TRUTH_GCOV_H_
#define HBBP_TOOLS_TRUTH_GCOV_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace hbbp::tools {

struct GcovLine {
  std::string file;      // absolute if the file contains the compiler's directory
  std::string function;  // name in the symbol table; empty if the file has none
  uint64_t line = 0;
  uint64_t count = 0;

  bool operator==(const GcovLine&) const = default;
};

// Errors: kBadFormat, with the number of the line. `name` is for messages.
StatusOr<std::vector<GcovLine>> ParseGcov(std::string_view text, const std::string& name);

}  // namespace hbbp::tools

#endif  // HBBP_TOOLS_TRUTH_GCOV_H_
