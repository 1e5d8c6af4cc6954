#include "pmu_model/pmu.h"

#include "pmu_model/branch_predictor.h"
#include "pmu_model/branch_ring.h"
#include "pmu_model/counter.h"
#include "pmu_model/retirement_clock.h"

namespace hbbp::simulation {
namespace {

constexpr uint64_t kClockStream = 0x636c6f636b;

class Simulation {
 public:
  Simulation(const Trace& trace, const PmuParameters& parameters,
             const std::vector<EventParameters>& events, const SampleSink& sink)
      : trace_(trace),
        parameters_(parameters),
        sink_(sink),
        clock_(parameters.clock, Mix(parameters.seed ^ kClockStream)),
        predictor_(trace.blocks.size()),
        ring_(parameters_) {
    for (size_t i = 0; i < events.size(); ++i) {
      counters_.emplace_back(events[i], parameters_, Mix(parameters.seed + i));
    }
    ring_.Push(trace.entry);
  }

  SimulationSummary Run() {
    for (size_t i = 0; i < trace_.sequence.size(); ++i) {
      const uint32_t id = trace_.sequence[i];
      const TraceBlock& block = trace_.blocks[id];
      for (const TraceInstruction& instruction : trace_.InstructionsOf(block)) Step(instruction);
      End(id, block, trace_.After(i));
    }
    for (size_t i = 0; i < counters_.size(); ++i) {
      counters_[i].End(trace_.exit, Taker{this, i});
      summary_.dropped += counters_[i].dropped();
    }
    summary_.cycles = cycle_;
    return summary_;
  }

 private:
  // Takes the samples of an event.
  struct Taker {
    Simulation* simulation;
    size_t event;

    void operator()(uint64_t ip, uint64_t period, bool is_exact) const {
      simulation->Take({event, ip, simulation->cycle_, period, is_exact, {}});
    }
  };

  void Take(SimulatedSample sample) {
    if (counters_[sample.event].with_stack()) sample.stack = ring_.Read();
    ++summary_.samples;
    sink_(sample);
  }

  void Step(const TraceInstruction& instruction) {
    cycle_ = clock_.Retire(instruction.kind);
    ++summary_.instructions;
    for (size_t i = 0; i < counters_.size(); ++i) {
      Counter& counter = counters_[i];
      counter.BeforeInstruction(instruction.address, cycle_, Taker{this, i});
      if (counter.counted() == CountedEvent::kInstructions) counter.Count(cycle_);
    }
  }

  // Ends a block, from which control went on to `next`.
  void End(uint32_t id, const TraceBlock& block, uint64_t next) {
    const bool is_taken = trace_.IsTaken(block, next);
    if (block.count != 0) {
      const BranchKind kind = trace_.InstructionsOf(block).back().branch;
      if (!predictor_.Expects(id, kind, is_taken, next)) clock_.Mispredicted();
    }
    if (!is_taken) return;
    ring_.Push(trace_.FindBranch(block, next));
    ++summary_.taken_branches;
    for (Counter& counter : counters_) {
      if (counter.counted() == CountedEvent::kTakenBranches) counter.Count(cycle_);
    }
  }

  const Trace& trace_;
  PmuParameters parameters_;
  const SampleSink& sink_;
  RetirementClock clock_;
  BranchPredictor predictor_;
  BranchRing ring_;
  std::vector<Counter> counters_;
  uint64_t cycle_ = 0;
  SimulationSummary summary_;
};

}  // namespace

SimulationSummary Simulate(const Trace& trace, const PmuParameters& parameters,
                           const std::vector<EventParameters>& events, const SampleSink& sink) {
  return Simulation(trace, parameters, events, sink).Run();
}

}  // namespace hbbp::simulation
