// Measures the time of InferFlow against the number of blocks, which items_per_second counts:
// nested ifs and loops, and a tangle that only gradients solve.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <random>

#include "estimate/flow_inference.h"
#include "support/flow_programs.h"

namespace hbbp {
namespace {

void Infer(benchmark::State& state, FlowProgram program) {
  std::mt19937_64 random(1);
  for (const uint32_t block : program.blocks) {
    program.MeasureAtRandom(block, 30, &random, 1, 0.1);
    program.MeasureAtRandom(block, 20, &random);
  }
  for (auto _ : state) {
    benchmark::DoNotOptimize(InferFlow(program.problem));
  }
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(program.blocks.size()));
  state.SetComplexityN(static_cast<int64_t>(program.blocks.size()));
}

void BM_Structured(benchmark::State& state) {
  Infer(state, MakeStructuredProgram(static_cast<uint32_t>(state.range(0)), 2000, 1));
}
BENCHMARK(BM_Structured)
    ->RangeMultiplier(10)
    ->Range(100, 100'000)
    ->Unit(benchmark::kMillisecond)
    ->Complexity();

void BM_Tangled(benchmark::State& state) {
  Infer(state, MakeTangledProgram(static_cast<uint32_t>(state.range(0)), 200, 1));
}
BENCHMARK(BM_Tangled)
    ->RangeMultiplier(10)
    ->Range(100, 10'000)
    ->Unit(benchmark::kMillisecond)
    ->Complexity();

}  // namespace
}  // namespace hbbp
