// SIMULATION: what a PMU with such parameters would record of a trace.
//
//   EventParameters event = {.capture = Capture::kPebs, .counter = {.period = 10'007}};
//   Simulate(trace, parameters, {event}, [](const SimulatedSample& sample) { ... });
//
// It is a pure function of its arguments: the samples are the same every time.
#ifndef HBBP_BENCH_ACCURACY_PMU_MODEL_PMU_H_
#define HBBP_BENCH_ACCURACY_PMU_MODEL_PMU_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "pmu_model/parameters.h"
#include "pmu_model/trace.h"

namespace hbbp::simulation {

enum class CountedEvent : uint8_t { kInstructions, kTakenBranches };

struct EventParameters {
  CountedEvent counted = CountedEvent::kInstructions;
  Capture capture = Capture::kInterrupt;
  bool with_stack = false;
  CounterParameters counter;
};

struct SimulatedSample {
  size_t event = 0;  // index of EventParameters
  uint64_t ip = 0;
  uint64_t cycle = 0;
  uint64_t period = 0;
  bool is_exact = false;          // ip is the sampled instruction
  std::vector<BranchPair> stack;  // newest first; empty if the event has none
};

struct SimulationSummary {
  uint64_t instructions = 0;
  uint64_t taken_branches = 0;
  uint64_t cycles = 0;
  uint64_t samples = 0;
  // Counts overflows before the previous one was recorded, and those after which the trace ended.
  uint64_t dropped = 0;
};

using SampleSink = std::function<void(const SimulatedSample&)>;

SimulationSummary Simulate(const Trace& trace, const PmuParameters& parameters,
                           const std::vector<EventParameters>& events, const SampleSink& sink);

}  // namespace hbbp::simulation

#endif  // HBBP_BENCH_ACCURACY_PMU_MODEL_PMU_H_
