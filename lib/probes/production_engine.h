// A ProductionEngine matches the instructions of threads with productions and collects what they
// record.
//
//   ProductionEngine engine(&set, {.is_exhaustive = false});
//   BurstState state = engine.StartThread();                 // for each thread
//   engine.Run(event, thread, &state);                       // for each executed instruction
//   engine.counts(table)                                     // afterwards
//
// All productions see the state before the instruction; what they change holds from the next one
// on. So a cycle of the framework has sample_freq + burst_length + 1 boundaries, and a profile
// production that depends on sample_flag sees burst_length + 1 of them: the last one resets.
//
// A stream of sampled bursts has no thread that goes on, and what it records counts by weight:
//
//   BurstState state = engine.BeginBurst();                  // for each burst
//   engine.Run(event, thread, &state);                       // for each instruction in it
//   engine.EndBurst({.always = weight, .in_burst = weight * instructions / instructions_in_burst});
//
// burst_probe.h explains these weights.
//
// The action `call` calls the handler of the options, in the thread that calls Run.
#ifndef HBBP_LIB_PROBES_PRODUCTION_ENGINE_H_
#define HBBP_LIB_PROBES_PRODUCTION_ENGINE_H_

#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include "probes/count_table.h"
#include "probes/instruction_event.h"
#include "probes/production_set.h"
#include "probes/trace_buffer.h"

namespace hbbp {

// What an action `call` has of an execution.
struct ProbeCall {
  const InstructionEvent& event;
  uint32_t production = 0;
  uint32_t table = 0;
  ProbeRow values{};     // of the fields; 0 where unknown
  uint32_t unknown = 0;  // a bit for each field
};

// Returns whether it stops the burst, as the step stop_burst does.
using ProbeHandler = std::function<bool(const ProbeCall& call)>;

struct ProductionEngineOptions {
  // sample_flag is always set, burst_flag never, and controls have no effect.
  bool is_exhaustive = false;
  uint64_t sample_freq = 0;              // 0: that of the set
  uint64_t burst_length = 0;             // 0: that of the set
  size_t max_rows = size_t{1} << 20;     // of each table of counts
  size_t max_symbols = size_t{1} << 24;  // of each trace
  ProbeHandler handler = nullptr;        // null: nothing is called
};

// How much each record of a burst counts.
struct RecordWeights {
  double always = 1;    // of productions that fire without sample_flag as well
  double in_burst = 1;  // of the others
};

class ProductionEngine {
 public:
  // The set must outlive the engine.
  ProductionEngine(const ProductionSet* set, const ProductionEngineOptions& options);

  const ProductionSet& set() const { return set_; }
  bool is_exhaustive() const { return options_.is_exhaustive; }
  uint64_t sample_freq() const { return sample_freq_; }
  uint64_t burst_length() const { return burst_length_; }

  BurstState StartThread() const {
    BurstState state;
    state.sample_flag = options_.is_exhaustive;
    return state;
  }

  // `thread` is any number, which is the same in all events of a thread until EndThread. Nothing is
  // allocated but for what is recorded for the first time.
  void Run(const InstructionEvent& event, uint32_t thread, BurstState* state) {
    const size_t flags = state->Flags();
    const ProbedInstruction& instruction = *event.instruction;
    if ((instruction.fires[flags] | instruction.may_fire[flags]) != 0) {
      Match(event, instruction.fires[flags], instruction.may_fire[flags], thread, state);
    }
  }

  // Begins a burst with sample_flag set and counters that are 0, because the sample began it. What
  // is recorded waits for EndBurst.
  BurstState BeginBurst();
  void EndBurst(const RecordWeights& weights);

  void EndThread(uint32_t thread) {
    for (TraceBuffer& trace : traces_) trace.EndThread(thread);
  }

  // Returns how often a production fired.
  uint64_t firings(size_t production) const { return firings_[production]; }
  // Returns how many bursts have begun; a thread that is exhaustive has none.
  uint64_t bursts() const { return bursts_; }

  // By index of ProductionSet::tables(), for tables of the kind.
  const CountTable& counts(size_t table) const { return counts_[table]; }
  const TraceBuffer& trace(size_t table) const { return traces_[table]; }
  uint64_t calls(size_t table) const { return calls_[table]; }
  // Of any table: what was not recorded because a field was unknown, and which fields were. Calls
  // are made all the same.
  uint64_t unknown_records(size_t table) const { return unknown_[table].records; }
  ProbeKeySet unknown_fields(size_t table) const { return unknown_[table].fields; }

 private:
  // A record of the current burst, which has no weight yet.
  struct WeightlessRecord {
    ProbeRow row;
    uint32_t table = 0;
    bool needs_flag = false;
  };
  struct UnknownRecords {
    uint64_t records = 0;
    ProbeKeySet fields = 0;
  };

  // A production fires at an execution.
  struct Firing {
    const InstructionEvent& event;
    const BurstState& state;
    uint32_t thread = 0;
    uint32_t production = 0;
    bool needs_flag = false;
  };

  void Match(const InstructionEvent& event, uint64_t fires, uint64_t may_fire, uint32_t thread,
             BurstState* state);
  // Returns whether the burst stops.
  bool Record(const ProbeAction& action, const Firing& firing);
  bool Call(const ProbeAction& action, const Firing& firing, const ProbeRow& row);
  void Advance(uint64_t fired, bool stops, BurstState* state);

  const ProductionSet& set_;
  const ProductionEngineOptions options_;
  const uint64_t sample_freq_;
  const uint64_t burst_length_;
  std::vector<uint64_t> firings_;
  std::vector<CountTable> counts_;
  std::vector<TraceBuffer> traces_;
  std::vector<uint64_t> calls_;          // by table
  std::vector<UnknownRecords> unknown_;  // by table
  std::vector<WeightlessRecord> of_burst_;
  bool is_in_sampled_burst_ = false;
  uint64_t control_ = 0;  // a bit for each production that changes the state
  uint64_t bursts_ = 0;
};

}  // namespace hbbp

#endif  // HBBP_LIB_PROBES_PRODUCTION_ENGINE_H_
