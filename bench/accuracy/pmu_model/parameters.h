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

// The parameters of retirement.
struct ClockParameters {
  // Maximum number of instructions that start, and that retire, in a cycle.
  uint32_t issue_width = 4;
  uint32_t retire_width = 8;
  // Maximum number of instructions between start and retirement.
  uint32_t window = 224;
  // Cycles from start to completion, by InstructionClass. Divisions and square roots do not overlap
  // each other; all other instructions do.
  std::array<uint32_t, kInstructionClasses> latency = {1, 5, 4, 18, 20, 100};
  // With this chance, a load takes so many more cycles.
  double load_miss_chance = 0.01;
  uint32_t load_miss_cycles = 30;
  // Cycles from the completion of a mispredicted branch to the start of the next instruction.
  uint32_t misprediction_cycles = 15;
};

enum class PeriodMode : uint8_t {
  kFixed,
  kPrime,    // the largest prime that is not above the period
  kRandom,   // within 12.5 % of it, drawn anew for so many samples
  kPoisson,  // exponentially distributed with this mean, which each sample stands for
};

// The kind of record after a counter's overflow.
enum class Capture : uint8_t {
  kInterrupt,    // an imprecise sample, at the instruction pointer of the interrupt
  kPebs,         // a precise one, of an instruction that retires after PEBS is armed
  kPreciseDist,  // a precise one, with the shadow of PREC_DIST
};

struct CounterParameters {
  uint64_t period = 10'000;
  PeriodMode period_mode = PeriodMode::kFixed;
  // The number of events before the first overflow, at most `period`; 0: the counter has just
  // overflowed.
  uint64_t phase = 0;
  uint64_t samples_by_draw = 1;  // of random periods
};

struct PmuParameters {
  ClockParameters clock;

  // The cycles from the overflow to the interrupt: a fixed part, and the mean of an exponentially
  // distributed one. If both are 0, the sample is the instruction after the overflow.
  double skid_cycles = 20;
  double skid_spread_cycles = 20;

  // The cycles from the overflow until PEBS is armed. The sample is of the first instruction that
  // retires from then on; 0: the instruction after the overflow, whichever cycle it retires in.
  uint32_t pebs_shadow_cycles = 4;
  uint32_t precise_dist_shadow_cycles = 0;
  // PEBS reports the instruction after the sampled one, as before Haswell.
  bool reports_next_ip = true;

  // The number of taken branches in a stack.
  uint32_t lbr_depth = 32;
  // The cycles from the overflow of the branch counter until the stack is frozen, like skid_cycles.
  double lbr_skid_cycles = 4;
  double lbr_skid_spread_cycles = 4;

  // The entry[0] anomaly: this share of the branches is sticky. A sticky branch that is the oldest
  // of the stack stays there with `sticky_chance` when the next branch should push it out (the
  // second oldest goes instead).
  double sticky_share = 0.02;
  double sticky_chance = 0.6;
  // The chance that the oldest entry of a stack is a copy of the second oldest.
  double repeat_chance = 0;

  uint64_t seed = 1;
};

}  // namespace hbbp::simulation

#endif  // HBBP_BENCH_ACCURACY_PMU_MODEL_PARAMETERS_H_
