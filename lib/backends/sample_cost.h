// What a sample takes from the thread that it is of. CPU time has it in it, but nothing tells it
// apart, so that it is assumed: bench/sample_cost measures it, docs/guide/embedding.md has the
// figures.
#ifndef HBBP_LIB_BACKENDS_SAMPLE_COST_H_
#define HBBP_LIB_BACKENDS_SAMPLE_COST_H_

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "events/samples.h"
#include "perf/switch_cost.h"

namespace hbbp {

// An interrupt and a record, by the unit of the event's period: that of a counter costs more than
// that of a clock in a virtual machine, where every access to the PMU may be the hypervisor's
// affair.
uint64_t InterruptNs(Unit unit);

// What a branch stack adds to that.
constexpr uint64_t kBranchStackNs = 2'000;

// What a counter of the PMU adds to a context switch; 0 if that cannot be measured.
uint64_t SwitchNs();

// What an event of a clock and one of mappings add to a context switch, about; bench/switch_cost
// measures it. The clock's has to start and to cancel a timer.
constexpr uint64_t kClockSwitchNs = 600;

// Empty if that is cheap. `is_avoided`: a clock was taken instead.
std::string SwitchCostNote(uint64_t switch_ns, bool is_avoided);

// What context switches cost since Begin. One thread at a time.
class SwitchCost {
 public:
  // Of the process (0: the calling one) without its thread `worker`, or of `threads`, if there are
  // any. 0 ns: switches are not looked at.
  void Begin(pid_t pid, std::vector<pid_t> threads, pid_t worker, uint64_t switch_ns);
  uint64_t SpentNs();
  // Switches cost nothing from here on.
  void End();

 private:
  uint64_t CountSwitches();

  pid_t pid_ = 0;
  std::vector<pid_t> threads_;
  pid_t worker_ = 0;
  uint64_t switch_ns_ = 0;
  uint64_t spent_ns_ = 0;  // before End
  uint64_t begin_ = 0;
  uint64_t last_ = 0;  // those of threads that ended are in no later count
  uint64_t last_count_ns_ = 0;
  uint64_t worker_switches_ = 0;
};

}  // namespace hbbp

#endif  // HBBP_LIB_BACKENDS_SAMPLE_COST_H_
