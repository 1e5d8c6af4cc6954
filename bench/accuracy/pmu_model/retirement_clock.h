// SIMULATION: computes the cycle in which each instruction retires.
//
// Instructions start in order, issue_width a cycle, while there is room in the window; complete
// after their latency; and retire in order, up to retire_width a cycle. After a long one, those
// that have completed meanwhile retire in a burst.
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

  // Returns the cycle in which the next instruction retires, which is never before the last one.
  uint64_t Retire(InstructionClass kind);

  // Call it after a branch that was mispredicted.
  void Mispredicted();

 private:
  ClockParameters parameters_;
  Random random_;
  std::vector<uint64_t> window_;  // the cycle in which each of the last instructions retired
  size_t next_in_window_ = 0;
  uint64_t start_cycle_ = 0;
  uint32_t started_in_cycle_ = 0;
  uint64_t divider_free_ = 0;
  uint64_t completed_ = 0;  // the cycle in which the last instruction completed
  uint64_t retire_cycle_ = 0;
  uint32_t retired_in_cycle_ = 0;
};

}  // namespace hbbp::simulation

#endif  // HBBP_BENCH_ACCURACY_PMU_MODEL_RETIREMENT_CLOCK_H_
