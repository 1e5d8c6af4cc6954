// Parses any text as /proc/PID/maps.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "image/process_maps.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  auto mappings = hbbp::ParseProcessMaps({reinterpret_cast<const char*>(data), size});
  if (!mappings.ok()) return 0;
  size_t path_bytes = 0;
  for (const hbbp::Mapping& mapping : *mappings) {
    if (mapping.end < mapping.start) std::abort();
    path_bytes += mapping.path.size();
  }
  if (path_bytes > size) std::abort();
  return 0;
}
