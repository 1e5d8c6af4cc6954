// SIMULATION: in which cycle each instruction retires.
//
// Instructions start in order, issue_width a cycle, while there is room in the window; complete
// after their latency; and retire in order, up to retire_width a cycle. Behind one that takes long,
// what has completed meanwhile retires in a burst.
//
//   issue 4, retire 4; simple instructions (1 cycle) and one division (18) as the second of them:
//   start     0 0 0 0 1 1 1 1
//   complete  1 18 1 1 2 2 2 2
//   retire    1 18 18 18 18 19 19 19
#ifndef HBBP_BENCH_ACCURACY_PMU_MODEL_RETIREMENT_CLOCK_H_
#define HBBP_BENCH_ACCURACY_PMU_MODEL_RETIREMENT_CLOCK_H_

#include <cstdint>
#include <vector>

#include "pmu_model/parameters.h"
#include "pmu_model/random.h"

namespace hbbp::simulation {

class RetirementClock {
 public:
  RetirementClock(const ClockParameters& parameters, uint64_t seed);

  // The cycle in which the next instruction retires; never less than the one before.
  uint64_t Retire(InstructionClass kind);

  // The instruction before, a branch, went where it was not expected to.
  void Mispredicted();

 private:
  ClockParameters parameters_;
  Random random_;
  std::vector<uint64_t> window_;  // in which cycle each of the last instructions retired
  size_t next_in_window_ = 0;
  uint64_t start_cycle_ = 0;
  uint32_t started_in_cycle_ = 0;
  uint64_t divider_free_ = 0;
  uint64_t completed_ = 0;  // the instruction before
  uint64_t retire_cycle_ = 0;
  uint32_t retired_in_cycle_ = 0;
};

}  // namespace hbbp::simulation

#endif  // HBBP_BENCH_ACCURACY_PMU_MODEL_RETIREMENT_CLOCK_H_
