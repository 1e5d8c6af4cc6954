// Measures the time to find blocks: all functions of a large library once, and one that is known.
#include <benchmark/benchmark.h>

#include <memory>
#include <random>
#include <string>
#include <vector>

#include "blocks/block_map.h"
#include "image/elf_image.h"

namespace hbbp {
namespace {

constexpr char kDefaultModule[] = "/lib/x86_64-linux-gnu/libc.so.6";
constexpr char kLargeModule[] = "/usr/lib/x86_64-linux-gnu/libcrypto.so.3";

std::unique_ptr<ElfImage> Open(benchmark::State& state, const std::string& path) {
  auto image = ElfImage::Open(path);
  if (image.ok()) return *std::move(image);
  state.SkipWithError(image.status().message().c_str());
  return nullptr;
}

void BuildAllFunctions(benchmark::State& state, const std::string& path) {
  const auto image = Open(state, path);
  if (image == nullptr) return;
  const auto functions = image->AllFunctions();
  uint64_t instructions = 0;
  uint64_t blocks = 0;
  for (auto _ : state) {
    BlockMap map(image.get());
    for (const AddressRange& function : functions)
      benchmark::DoNotOptimize(map.Find(function.start));
    instructions += map.statistics().instructions;
    blocks += map.statistics().blocks;
  }
  state.SetItemsProcessed(static_cast<int64_t>(instructions));
  state.counters["s_per_instruction"] = benchmark::Counter(
      static_cast<double>(instructions), benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
  state.counters["blocks"] =
      benchmark::Counter(static_cast<double>(blocks), benchmark::Counter::kAvgIterations);
}
BENCHMARK_CAPTURE(BuildAllFunctions, libc, kDefaultModule)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BuildAllFunctions, libcrypto, kLargeModule)->Unit(benchmark::kMillisecond);

// The addresses are spread over the module, or all in one function.
void WarmFind(benchmark::State& state, bool one_function) {
  const auto image = Open(state, kDefaultModule);
  if (image == nullptr) return;
  const auto functions = image->AllFunctions();
  BlockMap map(image.get());
  std::mt19937_64 random(1);
  std::vector<ModuleAddress> addresses;
  for (int i = 0; i < 1 << 16; ++i) {
    const AddressRange& function =
        functions[one_function ? functions.size() / 2 : random() % functions.size()];
    addresses.push_back(function.start + random() % (function.end - function.start));
    map.Find(addresses.back());
  }
  size_t next = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(map.Find(addresses[next++ % addresses.size()]));
  }
}
BENCHMARK_CAPTURE(WarmFind, random_functions, false);
BENCHMARK_CAPTURE(WarmFind, one_function, true);

}  // namespace
}  // namespace hbbp
