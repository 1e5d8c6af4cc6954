// FirstPeriods decides which samples of a clock count where the first one of a thread comes at a
// random moment.
//
// An event begins its period with the thread, so that a thread which is briefer than a period would
// have no sample, and threads that start alike would be sampled at the same code. So while threads
// are born they inherit a second event, whose period is drawn from the first period: its first
// sample in a thread stands for a whole period, and its others for nothing. At the end of the first
// period the event itself has a sample. In half of the threads, as is drawn, it counts, so that a
// thread of one to two periods stands for 1.5 of them on average (docs/internals/method.md). Events
// count by CPU, and so does all of this.
#ifndef HBBP_LIB_BACKENDS_FIRST_PERIODS_H_
#define HBBP_LIB_BACKENDS_FIRST_PERIODS_H_

#include <sys/types.h>

#include <cstdint>
#include <set>
#include <utility>

#include "events/period.h"

namespace hbbp {

class FirstPeriods {
 public:
  // Draws the period of the second event: at least a sixteenth of the other one, as threads that
  // last have a sample at each of its periods; so threads of a sixteenth of a period or less have
  // none.
  static uint64_t Draw(uint64_t period, PeriodDraw* draw) {
    return draw->Between(period / kMaxDivision, period);
  }
  static constexpr uint64_t kMaxDivision = 16;

  // Returns whether a sample of the second event counts.
  bool TakesFirst(pid_t tid, int cpu);
  // Returns whether a sample of the event itself counts. `is_drawn` is true in half of the calls.
  bool TakesRegular(pid_t tid, int cpu, bool is_drawn);
  bool HasSample(pid_t tid) const;

  // A thread began, perhaps with the number of one that has ended.
  void AddThread(pid_t tid);
  void Clear();

 private:
  using Key = std::pair<pid_t, int>;  // a thread on a CPU

  void LimitSize();

  std::set<Key> sampled_;
  std::set<Key> had_first_;  // that have had no sample of the event itself since
};

}  // namespace hbbp

#endif  // HBBP_LIB_BACKENDS_FIRST_PERIODS_H_
