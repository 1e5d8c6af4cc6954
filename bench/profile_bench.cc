// The analysing half: from addresses to blocks to a mix, over a large library.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <utility>

#include "image/elf_image.h"
#include "mix/mix.h"
#include "profile/resolved_profile.h"

namespace hbbp {
namespace {

constexpr char kLibrary[] = "/lib/x86_64-linux-gnu/libc.so.6";

// Samples at the starts of `count` functions, spread over the library.
ProfileData MakeProfile(size_t count) {
  ProfileData data;
  SourceRecord source;
  source.kind = SourceKind::kEbs;
  source.event = EventKind::kTaskClock;
  data.sources.push_back(source);
  data.threads.push_back({1, 1, "bench"});
  ModuleRecord module;
  module.path = kLibrary;
  auto image = ElfImage::Open(kLibrary);
  if (!image.ok()) return data;
  module.build_id.assign((*image)->build_id().begin(), (*image)->build_id().end());
  data.modules.push_back(module);
  const std::vector<AddressRange> functions = (*image)->AllFunctions();
  const size_t step = std::max<size_t>(1, functions.size() / count);
  for (size_t i = 0; i < functions.size(); i += step) {
    auto offset = (*image)->OffsetOfAddress(functions[i].start);
    if (!offset) continue;
    IpCount sampled;
    sampled.offset = offset->value;
    sampled.samples = 1;
    sampled.period_sum = 5e6;
    sampled.period_squares = 25e12;
    data.counts.push_back(sampled);
  }
  Normalize(&data.counts);
  return data;
}

void BM_ResolveProfile(benchmark::State& state) {
  const ProfileData data = MakeProfile(static_cast<size_t>(state.range(0)));
  size_t blocks = 0;
  for (auto _ : state) {
    ResolvedProfile profile(data);
    blocks = profile.blocks().size();
  }
  state.counters["blocks"] = static_cast<double>(blocks);
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(blocks));
}
BENCHMARK(BM_ResolveProfile)->Arg(100)->Arg(2'000)->Unit(benchmark::kMillisecond);

void BM_MixByMnemonic(benchmark::State& state) {
  ResolvedProfile profile(MakeProfile(2'000));
  size_t instructions = 0;
  for (const BlockRecord& block : profile.blocks()) {
    instructions += block.block.instruction_count;
  }
  for (auto _ : state) benchmark::DoNotOptimize(ComputeMix(profile, {.mnemonic = true}).total);
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(instructions));
}
BENCHMARK(BM_MixByMnemonic)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace hbbp
