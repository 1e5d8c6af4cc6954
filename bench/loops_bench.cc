// Measures FindLoops against the number of blocks, which items_per_second counts: random graphs,
// nests as deep as they are long, and all functions of a large library.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "blocks/block_map.h"
#include "blocks/function_graph.h"
#include "blocks/loop_nest.h"
#include "image/elf_image.h"
#include "support/random_graph.h"

namespace hbbp {
namespace {

constexpr uint32_t kEntry = 0;

void Find(benchmark::State& state, uint32_t nodes, const std::vector<GraphEdge>& edges) {
  for (auto _ : state) {
    benchmark::DoNotOptimize(FindLoops(nodes, edges, std::span(&kEntry, 1)));
  }
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(nodes));
  state.SetComplexityN(nodes);
}

void BM_Random(benchmark::State& state) {
  const auto nodes = static_cast<uint32_t>(state.range(0));
  std::mt19937_64 random(1);
  Find(state, nodes, MakeRandomGraph(nodes, 0.7, 100, &random));
}
BENCHMARK(BM_Random)
    ->RangeMultiplier(10)
    ->Range(100, 1'000'000)
    ->Unit(benchmark::kMillisecond)
    ->Complexity();

void BM_Nested(benchmark::State& state) {
  const auto nodes = static_cast<uint32_t>(state.range(0));
  std::vector<GraphEdge> edges;
  for (uint32_t i = 0; i + 1 < nodes; ++i) edges.push_back({i, i + 1});
  for (uint32_t i = 0; i < nodes / 2; ++i) edges.push_back({nodes - 1 - i, i});
  Find(state, nodes, edges);
}
BENCHMARK(BM_Nested)
    ->RangeMultiplier(10)
    ->Range(100, 1'000'000)
    ->Unit(benchmark::kMillisecond)
    ->Complexity();

void BM_Library(benchmark::State& state) {
  const auto image = ElfImage::Open("/usr/lib/x86_64-linux-gnu/libcrypto.so.3");
  if (!image.ok()) {
    state.SkipWithError(image.status().message().c_str());
    return;
  }
  BlockMap map(image->get());
  std::vector<FunctionGraph> graphs;
  int64_t blocks = 0;
  for (const AddressRange& function : (*image)->AllFunctions()) {
    const std::vector<Block> found = map.FunctionBlocks(function.start);
    if (found.empty()) continue;
    blocks += static_cast<int64_t>(found.size());
    graphs.push_back(MakeFunctionGraph(found, map.JumpTables(function.start)));
  }
  int64_t loops = 0, irreducible = 0;
  for (auto _ : state) {
    loops = irreducible = 0;
    for (const FunctionGraph& graph : graphs) {
      const LoopNest nest = FindLoops(graph.nodes, graph.edges, std::span(&kEntry, 1));
      loops += static_cast<int64_t>(nest.loops.size());
      irreducible += std::count_if(nest.loops.begin(), nest.loops.end(),
                                   [](const NestedLoop& loop) { return loop.is_irreducible; });
    }
  }
  state.SetItemsProcessed(state.iterations() * blocks);
  state.counters["loops"] = static_cast<double>(loops);
  state.counters["irreducible"] = static_cast<double>(irreducible);
}
BENCHMARK(BM_Library)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace hbbp
