// Measures finding lines by address. HBBP_BENCH_ELF names a file with debug information; the
// default is this program.
#include <benchmark/benchmark.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "base/unique_fd.h"
#include "image/elf_image.h"
#include "symbols/demangle.h"
#include "symbols/line_table.h"

namespace hbbp {
namespace {

std::string File() {
  const char* const chosen = std::getenv("HBBP_BENCH_ELF");
  return chosen == nullptr ? "/proc/self/exe" : chosen;
}

struct Module {
  std::unique_ptr<ElfImage> image;
  UniqueFd fd;

  std::unique_ptr<LineTable> Open(std::shared_ptr<LineMemory> memory = nullptr) const {
    auto lines = LineTable::Open({File(), fd.get(), image->build_id()}, {}, std::move(memory));
    return lines.ok() ? *std::move(lines) : nullptr;
  }
};

const Module& TheModule() {
  static const Module module = [] {
    StatusOr<std::unique_ptr<ElfImage>> image = ElfImage::Open(File());
    if (!image.ok()) std::abort();
    return Module{*std::move(image), UniqueFd(::open(File().c_str(), O_RDONLY | O_CLOEXEC))};
  }();
  return module;
}

std::vector<ModuleAddress> SomeAddresses() {
  const std::vector<AddressRange> functions = TheModule().image->AllFunctions();
  std::mt19937_64 random(1);
  std::vector<ModuleAddress> addresses;
  for (int i = 0; i < 4096; ++i) {
    const AddressRange& function = functions[random() % functions.size()];
    addresses.push_back(function.start + random() % (function.end - function.start));
  }
  return addresses;
}

void BM_Open(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(TheModule().Open());
}
BENCHMARK(BM_Open)->Unit(benchmark::kMillisecond);

// Measures opening, and the first line of a unit.
void BM_FirstLine(benchmark::State& state) {
  const std::vector<ModuleAddress> addresses = SomeAddresses();
  size_t i = 0;
  for (auto _ : state) {
    const std::unique_ptr<LineTable> lines = TheModule().Open();
    if (lines == nullptr) return state.SkipWithError("no debug information");
    benchmark::DoNotOptimize(lines->Find(addresses[i++ % addresses.size()]));
  }
}
BENCHMARK(BM_FirstLine)->Unit(benchmark::kMillisecond);

void BM_Find(benchmark::State& state) {
  const auto memory = std::make_shared<LineMemory>(DebugInfoOptions().memory_limit);
  const std::unique_ptr<LineTable> lines = TheModule().Open(memory);
  if (lines == nullptr) return state.SkipWithError("no debug information");
  const std::vector<ModuleAddress> addresses = SomeAddresses();
  for (const ModuleAddress address : addresses) benchmark::DoNotOptimize(lines->Find(address));
  size_t i = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(lines->Find(addresses[i++ % addresses.size()]));
  }
  state.counters["units"] = static_cast<double>(lines->units_decoded());
  state.counters["kept_bytes"] = static_cast<double>(memory->kept().bytes);
}
BENCHMARK(BM_Find);

// Measures the lines of a whole function, as a listing reads them.
void BM_WalkFunction(benchmark::State& state) {
  const std::unique_ptr<LineTable> lines = TheModule().Open();
  if (lines == nullptr) return state.SkipWithError("no debug information");
  const AddressRange function = *TheModule().image->FunctionAround(SomeAddresses().front());
  int64_t ranges = 0;
  for (auto _ : state) {
    for (ModuleAddress at = function.start; at < function.end; ++ranges) {
      at = lines->Find(at).range.end;
    }
  }
  state.SetItemsProcessed(ranges);
}
BENCHMARK(BM_WalkFunction);

void BM_Demangle(benchmark::State& state) {
  const char* const names[] = {
      "_ZNSt6vectorIN4hbbp11SourceFrameESaIS1_EE17_M_realloc_insertIJRKS1_EEEvN9__gnu_cxx17__"
      "normal_iteratorIPS1_S3_EEDpOT_",
      "_RINvNtC3std3mem8align_ofdE", "_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE"};
  for (auto _ : state) benchmark::DoNotOptimize(Demangle(names[state.range(0)]));
}
BENCHMARK(BM_Demangle)->DenseRange(0, 2);

}  // namespace
}  // namespace hbbp
