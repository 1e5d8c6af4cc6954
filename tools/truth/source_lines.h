// Finds the code of source lines by the DWARF line table of a file.
#ifndef HBBP_TOOLS_TRUTH_SOURCE_LINES_H_
#define HBBP_TOOLS_TRUTH_SOURCE_LINES_H_

#include <cstdint>
#include <functional>
#include <string>

#include "base/status.h"

namespace hbbp::tools {

struct LineRange {
  const std::string& file;      // absolute if the compiler's directory is known
  const std::string& producer;  // compiler and options, if known
  uint64_t line = 0;
  uint64_t start = 0;  // module addresses
  uint64_t end = 0;    // exclusive
};

// Calls `range` for each row of the line tables of the ELF file, by address within a unit. Errors:
// kNotFound (there is no such file, or no DWARF in it), kUnsupported (no libdw).
Status ForEachLineRange(const std::string& path,
                        const std::function<void(const LineRange&)>& range);

}  // namespace hbbp::tools

#endif  // HBBP_TOOLS_TRUTH_SOURCE_LINES_H_
