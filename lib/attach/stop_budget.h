// StopBudget says how often to scan a process for threads that run, so that they stand still for at
// most half a percent of the CPU time that it uses. What a scan costs without stopping a thread
// counts as well, as it may take the CPU that the process wants.
//
// Assumption: what a scan costs and how busy the process is change little from one scan to the
// next. One that sleeps for seconds and is then busy for a tenth of one is scanned too rarely to
// be seen well: it stands still for less than it might.
#ifndef HBBP_LIB_ATTACH_STOP_BUDGET_H_
#define HBBP_LIB_ATTACH_STOP_BUDGET_H_

#include <cstdint>

namespace hbbp {

class StopBudget {
 public:
  static constexpr uint64_t kMinPeriodNs = 20'000'000;
  // Of a process that does nothing.
  static constexpr uint64_t kIdlePeriodNs = 100'000'000;
  // On a busy machine scans cost much, as this process waits for a CPU in them.
  static constexpr uint64_t kMaxPeriodNs = 10 * kMinPeriodNs;

  // A scan cost so much, and the process used so much CPU time in the time since the one before.
  void AddScan(uint64_t cost_ns, uint64_t used_ns, uint64_t elapsed_ns);

  // Returns the time to the next scan.
  uint64_t PeriodNs() const;

 private:
  // Means of the last scans.
  double cost_ns_ = 0;
  double used_ns_ = 0;
  double elapsed_ns_ = 0;
};

}  // namespace hbbp

#endif  // HBBP_LIB_ATTACH_STOP_BUDGET_H_
