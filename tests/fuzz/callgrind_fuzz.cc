// Parses any bytes as the output of callgrind.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "truth/callgrind.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using hbbp::tools::ParseCallgrind;
  const auto truth = ParseCallgrind({reinterpret_cast<const char*>(data), size}, "fuzz");
  if (!truth.ok()) {
    if (truth.status().message().empty()) std::abort();
    return 0;
  }
  uint64_t total = 0;
  for (const hbbp::tools::TruthObject& object : truth->objects) {
    uint64_t object_total = 0;
    for (size_t i = 0; i < object.instructions.size(); ++i) {
      object_total += object.instructions[i].count;
      if (i != 0 && object.instructions[i - 1].address >= object.instructions[i].address) {
        std::abort();
      }
    }
    if (object_total != object.total) std::abort();
    total += object_total;
  }
  if (total != truth->total) std::abort();
  return 0;
}
