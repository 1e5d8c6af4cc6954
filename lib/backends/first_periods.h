// FirstPeriods decides which samples of a clock count where the first one of a thread comes at a
// random moment.
//
// An event begins its period with the thread, so that a thread which is briefer than a period would
// have no sample, and threads that start alike would be sampled at the same code. So while threads
// are born they inherit a second event, whose period is drawn from the first period: its first
// sample in a thread stands for a whole period, and its others for nothing. At the end of the first
// period the event itself has a sample. In half of the threads, as is drawn, it counts, so that a
// thread of one to two periods stands for 1.5 of them on average (docs/internals/method.md).
#ifndef HBBP_LIB_BACKENDS_FIRST_PERIODS_H_
#define HBBP_LIB_BACKENDS_FIRST_PERIODS_H_

#include <sys/types.h>

#include <cstddef>
#include <set>

namespace hbbp {

class FirstPeriods {
 public:
  // Returns whether a sample of the second event counts.
  bool TakesFirst(pid_t tid);
  // Returns whether a sample of the event itself counts. `is_drawn` is true in half of the calls.
  bool TakesRegular(pid_t tid, bool is_drawn);
  bool HasSample(pid_t tid) const { return sampled_.contains(tid); }

  // A thread began, perhaps with the number of one that has ended.
  void AddThread(pid_t tid);
  void Clear();

 private:
  // Of more threads, only samples of the event itself count.
  static constexpr size_t kMaxThreads = 1 << 16;

  std::set<pid_t> sampled_;
  std::set<pid_t> had_first_;  // that have had no sample of the event itself since
};

}  // namespace hbbp

#endif  // HBBP_LIB_BACKENDS_FIRST_PERIODS_H_
