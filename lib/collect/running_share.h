// RunningShare finds for how much of the time a counter ran, from the times in its samples
// (PERF_FORMAT_TOTAL_TIME_ENABLED and _RUNNING). Where there are more events than counters of the
// PMU, the kernel has them take turns, and a sample stands for the time since the one before:
//
//   enabled 10 ms, running 10 ms: factor 1
//   enabled 30 ms, running 15 ms: 20 ms passed, of which it ran 5: factor 4
#ifndef HBBP_LIB_COLLECT_RUNNING_SHARE_H_
#define HBBP_LIB_COLLECT_RUNNING_SHARE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>

#include "perf/sample_record.h"

namespace hbbp {

class RunningShare {
 public:
  // Returns the factor for a sample of the counter; `tid` is 0 if all threads share it. It is 1 for
  // more counters than any recording has.
  double Advance(uint64_t counter, uint32_t tid, const CounterValues& values);
  // Returns the share over all samples, 1 if it is not known.
  double Share() const;

 private:
  static constexpr size_t kMaxCounters = 1 << 20;

  struct Times {
    uint64_t enabled = 0;
    uint64_t running = 0;
  };

  std::map<std::pair<uint64_t, uint32_t>, Times> last_;
  double enabled_ = 0;
  double running_ = 0;
};

}  // namespace hbbp

#endif  // HBBP_LIB_COLLECT_RUNNING_SHARE_H_
