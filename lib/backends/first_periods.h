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

#include <algorithm>
#include <cstdint>
#include <set>
#include <utility>

#include "events/period.h"

namespace hbbp {

class FirstPeriods {
 public:
  // Draws the period of the second event: at least a sixteenth of the other one, as threads that
  // last have a sample at each of its periods; so threads of a sixteenth of a period or less have
  // none. `unsampled_ns` of the period are over.
  static uint64_t Draw(uint64_t period, PeriodDraw* draw, uint64_t unsampled_ns = 0) {
    return DrawRest(period / kMaxDivision, period, unsampled_ns, draw);
  }
  static constexpr uint64_t kMaxDivision = 16;

  // Draws a moment of a period, not before `shortest`, and returns how far it is from now, where
  // `unsampled_ns` of the period are over: the thread is sampled in it as if it had been so from
  // the beginning.
  static uint64_t DrawRest(uint64_t shortest, uint64_t period, uint64_t unsampled_ns,
                           PeriodDraw* draw) {
    const uint64_t gone = std::min(unsampled_ns, period / 2);
    return draw->Between(std::max(shortest, gone + 1), period) - gone;
  }

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
