// Parses any bytes as the output of gcov.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "truth/gcov.h"
#include "truth/truth_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace hbbp::tools;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto format = DetectTruthFormat(text, "fuzz");
  if (!format.ok() && format.status().message().empty()) std::abort();
  const auto lines = ParseGcov(text, "fuzz");
  if (!lines.ok()) {
    if (lines.status().message().empty()) std::abort();
    return 0;
  }
  for (const GcovLine& line : *lines) {
    if (line.count > uint64_t{1} << 63) std::abort();
  }
  return 0;
}
