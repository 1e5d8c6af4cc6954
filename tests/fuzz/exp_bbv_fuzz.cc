// Parses any bytes as either file of exp-bbv; and, split at the first zero, as both, over a real
// module.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "truth/exp_bbv_modules.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace hbbp::tools;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const size_t zero = text.find('\0');
  const auto vectors = ParseBbVectors(text.substr(0, zero), "fuzz");
  const auto addresses = ParseBbAddresses(zero == text.npos ? text : text.substr(zero + 1), "fuzz");
  if (!vectors.ok() && vectors.status().message().empty()) std::abort();
  if (!addresses.ok() && addresses.status().message().empty()) std::abort();
  if (!vectors.ok()) return 0;
  uint64_t total = 0;
  for (const auto& [block, count] : vectors->instructions) total += count;
  if (total != vectors->total) std::abort();
  if (!addresses.ok()) return 0;

  static ModuleImages images(std::vector<ProfiledModule>{{"/proc/self/exe", ""}});
  std::vector<std::string> notes;
  const auto counts =
      CountsFromBbv(*vectors, *addresses, {{"/proc/self/exe", 0x108000}}, "fuzz", &images, &notes);
  if (!counts.ok()) return 0;
  for (const hbbp::tools::ReferenceModule& module : *counts) {
    for (const hbbp::tools::ReferenceCount& count : module.counts) {
      if (!(count.count >= 0)) std::abort();
    }
  }
  return 0;
}
