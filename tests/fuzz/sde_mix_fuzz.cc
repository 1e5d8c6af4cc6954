// Parses any bytes as the mix of Intel SDE.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "truth/sde_mix_modules.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace hbbp::tools;
  const auto mix = ParseSdeMix({reinterpret_cast<const char*>(data), size}, "fuzz");
  if (!mix.ok()) {
    if (mix.status().message().empty()) std::abort();
    return 0;
  }
  uint64_t instructions = 0;
  for (const MixBlock& block : mix->blocks) {
    instructions += block.executions * block.instruction_count;
    if (!block.instructions.empty() && block.instructions.size() != block.instruction_count) {
      std::abort();
    }
  }
  if (instructions != mix->block_instructions) std::abort();
  ModuleImages images({});
  Mix named = *mix;
  for (MixImage& image : named.images) image.path = "/no/such/" + image.path;
  const auto counts = CountsFromSdeMix(named, "fuzz", &images);
  if (!counts.ok() && counts.status().message().empty()) std::abort();
  return 0;
}
