// Measures what the worker spends on the time of a burst: on the model of the processor, by
// instruction, and on the predictor of branches, by branch. And what a handler spends on the width
// of the processor for it.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <vector>

#include "backends/branch_predictor.h"
#include "backends/burst_time.h"
#include "trace/interpreter/execution_width.h"
#include "trace/interpreter/look_ahead.h"

namespace hbbp {
namespace {

constexpr uint32_t kBranches = 1000;

void Sort() {
  static uint64_t values[512];
  uint64_t seed = 1;
  for (uint64_t& value : values) value = (seed = seed * 6364136223846793005u + 1) >> 20;
  std::sort(std::begin(values), std::end(values));
}

struct Recorded {
  trace::CodeCache* cache = trace::CodeCache::Create(4 << 20, nullptr);
  std::vector<TakenBranch> branches = std::vector<TakenBranch>(kBranches);
  uint64_t instructions = 0;
};

const Recorded& RecordedBurst() {
  static const Recorded recorded = [] {
    Recorded made;
    static uint64_t stack[4096];
    void* memory =
        std::aligned_alloc(trace::LookAhead::Alignment(),
                           (trace::LookAhead::Size() / trace::LookAhead::Alignment() + 1) *
                               trace::LookAhead::Alignment());
    std::fill_n(static_cast<char*>(memory), trace::LookAhead::Size(), '\0');
    trace::LookAhead* look_ahead = trace::LookAhead::Create(memory, made.cache);
    trace::MachineState state = {};
    state.rip = reinterpret_cast<uint64_t>(&Sort);
    state.gpr[trace::kRsp] = reinterpret_cast<uint64_t>(std::end(stack) - 9);
    state.has_vector_state = 1;
    state.mxcsr = 0x1f80;
    look_ahead->Begin(state, true);
    const trace::RunResult result = look_ahead->Run(made.branches.data(), kBranches, 1 << 20);
    made.branches.resize(result.branches);
    made.instructions = result.last_branch - result.first_branch;
    return made;
  }();
  return recorded;
}

void StreamsNs(benchmark::State& state) {
  const Recorded& burst = RecordedBurst();
  BurstTime time(burst.cache, {0.25, 0.4, true});
  for (auto _ : state) {
    benchmark::DoNotOptimize(
        time.StreamsNs(burst.branches, burst.instructions, LengthUnit::kInstructions));
  }
  state.counters["branches"] = static_cast<double>(burst.branches.size());
  state.counters["instructions"] = static_cast<double>(burst.instructions);
}
BENCHMARK(StreamsNs);

void TicksOfWidth(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(trace::TicksOfWidth());
}
BENCHMARK(TicksOfWidth);

void PredictBranches(benchmark::State& state) {
  const Recorded& burst = RecordedBurst();
  BranchPredictor predictor;
  for (auto _ : state) {
    predictor.StartBurst();
    for (const TakenBranch& branch : burst.branches) {
      benchmark::DoNotOptimize(predictor.AddConditional(branch.from, true));
      predictor.AddToHistory(branch);
    }
  }
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations() * burst.branches.size()));
}
BENCHMARK(PredictBranches);

}  // namespace
}  // namespace hbbp
