// Measures the analysis: from addresses to blocks to a mix, over a large library.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <string>
#include <utility>

#include "analysis/analyze.h"
#include "image/elf_image.h"
#include "mix/mix.h"

namespace hbbp {
namespace {

constexpr char kLibrary[] = "/lib/x86_64-linux-gnu/libc.so.6";

// Returns samples at the starts of `count` functions, spread over the library.
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

void BM_Analyze(benchmark::State& state) {
  const ProfileData data = MakeProfile(static_cast<size_t>(state.range(0)));
  size_t blocks = 0;
  for (auto _ : state) {
    blocks = Analyze(data)->blocks().size();
  }
  state.counters["blocks"] = static_cast<double>(blocks);
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(blocks));
}
BENCHMARK(BM_Analyze)->Arg(100)->Arg(2'000)->Unit(benchmark::kMillisecond);

// The tree has this many levels, each of which tests the length.
void BM_ChooseByTree(benchmark::State& state) {
  const int levels = static_cast<int>(state.range(0));
  std::string json = R"({"format": "hbbp-tree", "version": 1, "nodes": [)";
  for (int level = 0; level < levels; ++level) {
    const std::string next = std::to_string(2 * level + 2);
    json += R"({"feature": "length", "threshold": )" + std::to_string(level) + R"(, "yes": )" +
            std::to_string(2 * level + 1) + R"(, "no": )" + next + R"(}, {"class": "ebs"}, )";
  }
  const auto tree = DecisionTree::FromJson(json + R"({"class": "streams"}]})");
  BlockFeatures features;
  features[Feature::kLength] = levels;
  for (auto _ : state) {
    benchmark::DoNotOptimize(features);
    benchmark::DoNotOptimize(tree->Choose(features));
  }
}
BENCHMARK(BM_ChooseByTree)->Arg(1)->Arg(10);

void BM_FeaturesOfBlock(benchmark::State& state) {
  const StatusOr<Analysis> analysis = Analyze(MakeProfile(2'000));
  const std::vector<BlockRecord>& blocks = analysis->blocks();
  size_t next = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(analysis->FeaturesOf(blocks[next]));
    next = (next + 1) % blocks.size();
  }
}
BENCHMARK(BM_FeaturesOfBlock);

// The first mix of an analysis makes the instruction table, which the next ones reuse.
void BM_FirstMixByMnemonic(benchmark::State& state) {
  const StatusOr<Analysis> analysis = Analyze(MakeProfile(2'000));
  for (auto _ : state) {
    benchmark::DoNotOptimize(ComputeMix(*analysis, {.mnemonic = true})->total);
  }
}
BENCHMARK(BM_FirstMixByMnemonic)->Unit(benchmark::kMillisecond);

void BM_MixByMnemonic(benchmark::State& state) {
  const StatusOr<Analysis> analysis = Analyze(MakeProfile(2'000));
  PivotSubject subject(*analysis);
  AddMissing({.instructions = true}, &subject);
  for (auto _ : state) benchmark::DoNotOptimize(ComputeMix(subject, {.mnemonic = true})->total);
  state.SetItemsProcessed(state.iterations() *
                          static_cast<int64_t>(subject.code->instructions.size()));
}
BENCHMARK(BM_MixByMnemonic)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace hbbp
