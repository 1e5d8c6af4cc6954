// SIMULATION: the parameters of a PMU that does not exist.
//
// The defaults are plausible for a wide out-of-order processor. They are not measured, and not
// those of any processor. docs/lab/pmu-model.md has the rule behind each.
#ifndef HBBP_BENCH_ACCURACY_PMU_MODEL_PARAMETERS_H_
#define HBBP_BENCH_ACCURACY_PMU_MODEL_PARAMETERS_H_

#include <array>
#include <cstdint>

#include "pmu_model/instruction_class.h"

namespace hbbp::simulation {

// When instructions retire.
struct ClockParameters {
  // Instructions that can start in a cycle, and that can retire in one.
  uint32_t issue_width = 4;
  uint32_t retire_width = 8;
  // Started and not retired, at most.
  uint32_t window = 224;
  // Cycles from start to completion, by InstructionClass. Divisions and square roots follow each
  // other one at a time; the others overlap.
  std::array<uint32_t, kInstructionClasses> latency = {1, 5, 4, 18, 20, 100};
  // A load takes so many cycles longer with this chance.
  double load_miss_chance = 0.01;
  uint32_t load_miss_cycles = 30;
  // From the completion of a branch that was predicted wrongly to the start of what follows.
  uint32_t misprediction_cycles = 15;
};

enum class PeriodMode : uint8_t {
  kFixed,
  kPrime,    // the largest prime that is not above the period
  kRandom,   // within 12.5 % of it, anew each time
  kPoisson,  // exponentially distributed with this mean, which each sample stands for
};

// What kind of record a counter's overflow leads to.
enum class Capture : uint8_t {
  kInterrupt,    // an imprecise sample: where control is when the interrupt comes
  kPebs,         // a precise one, of an instruction that retires once PEBS is armed
  kPreciseDist,  // the same, with the shadow of PREC_DIST
};

struct CounterParameters {
  uint64_t period = 10'000;
  PeriodMode period_mode = PeriodMode::kFixed;
  // Events before the first overflow, at most `period`; 0: the counter has just overflown.
  uint64_t phase = 0;
};

struct PmuParameters {
  ClockParameters clock;

  // From the overflow to the interrupt, in cycles: a fixed part, and the mean of one that is
  // exponentially distributed. 0 and 0: the sample is the instruction behind the overflow.
  double skid_cycles = 20;
  double skid_spread_cycles = 20;

  // From the overflow until PEBS is armed, in cycles. The sample is of the first instruction that
  // retires from then on; 0: the instruction behind the overflow, whichever cycle it retires in.
  uint32_t pebs_shadow_cycles = 4;
  uint32_t precise_dist_shadow_cycles = 0;
  // PEBS reports the instruction after the one that it is of, as before Haswell.
  bool reports_next_ip = true;

  // Taken branches in a stack.
  uint32_t lbr_depth = 32;
  // From the overflow of the branch counter until the stack is frozen, as skid_cycles.
  double lbr_skid_cycles = 4;
  double lbr_skid_spread_cycles = 4;

  // entry[0] anomaly: this share of the branches is sticky. One that is the oldest of the stack
  // stays there with `sticky_chance` when the next branch should push it out (the second oldest
  // goes instead).
  double sticky_share = 0.02;
  double sticky_chance = 0.6;
  // The chance of a stack that its oldest entry is a copy of the second oldest.
  double repeat_chance = 0;

  uint64_t seed = 1;
};

}  // namespace hbbp::simulation

#endif  // HBBP_BENCH_ACCURACY_PMU_MODEL_PARAMETERS_H_
