// Estimates the time that samples and context switches take from the profiled threads. It is part
// of their CPU time, but the kernel does not report it separately, so costs are assumed:
// bench/sample_cost measures them, and docs/guide/embedding.md has the figures.
#ifndef HBBP_LIB_BACKENDS_SAMPLE_COST_H_
#define HBBP_LIB_BACKENDS_SAMPLE_COST_H_

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "events/samples.h"
#include "perf/switch_cost.h"

namespace hbbp {

// Returns the cost of an interrupt and a record, by the unit of the event's period. In a virtual
// machine an interrupt of a counter costs more than one of a clock, because the hypervisor may
// emulate every access to the PMU.
uint64_t InterruptNs(Unit unit);

// Cost of a branch stack in addition to that.
constexpr uint64_t kBranchStackNs = 2'000;

// Returns the time that a counter of the PMU adds to a context switch; 0 if it cannot be measured.
uint64_t SwitchNs();

// Returns about what an event of a clock and one of mappings add to a context switch. The event of
// a clock starts and cancels a timer. Where a hypervisor emulates page tables, which makes page
// faults dear (ProcessorTiming::page_fault_ns), that is several times as much. Both are of
// bench/pipes with and without these events, at the default period (docs/reference/hardware.md).
uint64_t ClockSwitchNs(double page_fault_ns);

// Returns a note about the cost of switches, or an empty one if they are cheap. `is_avoided` says
// that a clock was taken instead.
std::string SwitchCostNote(uint64_t switch_ns, bool is_avoided);

// Estimates what context switches have cost since Begin. One thread at a time may use it.
class SwitchCost {
 public:
  // Counts switches of the process (0: the calling one) without its thread `worker`, or only of
  // `threads`, if there are any. If `switch_ns` is 0, switches are not counted.
  void Begin(pid_t pid, std::vector<pid_t> threads, pid_t worker, uint64_t switch_ns);
  uint64_t SpentNs();
  // Stops counting; later switches cost nothing.
  void End();

 private:
  uint64_t CountSwitches();

  pid_t pid_ = 0;
  std::vector<pid_t> threads_;
  pid_t worker_ = 0;
  uint64_t switch_ns_ = 0;
  uint64_t spent_ns_ = 0;  // before End
  uint64_t begin_ = 0;
  uint64_t last_ = 0;  // the highest count, because later ones are without threads that ended
  uint64_t last_count_ns_ = 0;
  uint64_t worker_switches_ = 0;
};

}  // namespace hbbp

#endif  // HBBP_LIB_BACKENDS_SAMPLE_COST_H_
