// Measures reading ELF images and process maps.
#include <benchmark/benchmark.h>
#include <sys/stat.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "image/elf_image.h"
#include "image/process_maps.h"

namespace hbbp {
namespace {

// Returns the largest library that is installed.
const std::string& Library() {
  static const std::string path = [] {
    for (const char* candidate :
         {"/usr/lib/x86_64-linux-gnu/libLLVM-14.so.1", "/usr/lib/x86_64-linux-gnu/libstdc++.so.6",
          "/lib/x86_64-linux-gnu/libc.so.6"}) {
      struct stat status;
      if (::stat(candidate, &status) == 0) return candidate;
    }
    return "/proc/self/exe";
  }();
  return path;
}

std::unique_ptr<ElfImage> OpenLibrary() {
  StatusOr<std::unique_ptr<ElfImage>> image = ElfImage::Open(Library(), {.debug_root = ""});
  if (!image.ok()) std::abort();
  return *std::move(image);
}

// Returns addresses from all over the code, in an order that defeats caches.
std::vector<ModuleAddress> SomeAddresses(const ElfImage& image) {
  std::vector<AddressRange> functions = image.AllFunctions();
  if (functions.empty()) std::abort();
  std::vector<ModuleAddress> addresses;
  for (size_t i = 0; i < 4096; ++i) {
    const AddressRange& function = functions[i * 7919 % functions.size()];
    addresses.push_back(function.start + (function.end - function.start) / 2);
  }
  return addresses;
}

void BM_Open(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(OpenLibrary());
  state.SetLabel(Library());
}
BENCHMARK(BM_Open)->Unit(benchmark::kMicrosecond);

void BM_OpenAndFirstLookup(benchmark::State& state) {
  // The first function may be a stub, which needs no symbols.
  ModuleAddress address = SomeAddresses(*OpenLibrary())[1];
  for (auto _ : state) {
    std::unique_ptr<ElfImage> image = OpenLibrary();
    benchmark::DoNotOptimize(image->FunctionAround(address));
  }
  state.SetLabel(Library());
}
BENCHMARK(BM_OpenAndFirstLookup)->Unit(benchmark::kMillisecond);

void BM_FunctionAround(benchmark::State& state) {
  std::unique_ptr<ElfImage> image = OpenLibrary();
  std::vector<ModuleAddress> addresses = SomeAddresses(*image);
  size_t i = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(image->FunctionAround(addresses[i++ % addresses.size()]));
  }
}
BENCHMARK(BM_FunctionAround);

void BM_FunctionName(benchmark::State& state) {
  std::unique_ptr<ElfImage> image = OpenLibrary();
  std::vector<ModuleAddress> addresses = SomeAddresses(*image);
  size_t i = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(image->FunctionName(addresses[i++ % addresses.size()]));
  }
}
BENCHMARK(BM_FunctionName);

void BM_CodeAt(benchmark::State& state) {
  std::unique_ptr<ElfImage> image = OpenLibrary();
  std::vector<ModuleAddress> addresses = SomeAddresses(*image);
  size_t i = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(image->CodeAt(addresses[i++ % addresses.size()], 15));
  }
}
BENCHMARK(BM_CodeAt);

void BM_AllFunctions(benchmark::State& state) {
  std::unique_ptr<ElfImage> image = OpenLibrary();
  size_t functions = 0;
  for (auto _ : state) functions = image->AllFunctions().size();
  state.counters["functions"] = static_cast<double>(functions);
}
BENCHMARK(BM_AllFunctions)->Unit(benchmark::kMillisecond);

void BM_ParseProcessMaps(benchmark::State& state) {
  std::string text;
  for (unsigned i = 0; i < 2000; ++i) {
    char line[256];
    std::snprintf(line, sizeof(line),
                  "7f%06x000-7f%06x000 r-xp %08x fd:01 %u                    "
                  "/usr/lib/x86_64-linux-gnu/libexample-%u.so.1\n",
                  2 * i, 2 * i + 1, i * 4096, 100000 + i, i);
    text += line;
  }
  for (auto _ : state) benchmark::DoNotOptimize(ParseProcessMaps(text));
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * text.size()));
}
BENCHMARK(BM_ParseProcessMaps);

void BM_ReadOwnMaps(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(ReadProcessMaps(0));
}
BENCHMARK(BM_ReadOwnMaps)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace hbbp
