// ThreadTimes says which threads of another process run now, and how much CPU time each has used
// since it was last asked about.
//
// A thread that is sampled where it is found running, at times that do not depend on it, is found
// at each location as often as it is there. It stands for all of its CPU time since the time
// before.
//
// All threads together never have more than their process: a thread that executes another program
// takes the number of the first one, and brings along the time that it was asked about already.
#ifndef HBBP_LIB_ATTACH_THREAD_TIMES_H_
#define HBBP_LIB_ATTACH_THREAD_TIMES_H_

#include <sys/types.h>
#include <time.h>

#include <cstdint>
#include <map>
#include <vector>

#include "base/status.h"
#include "base/unique_fd.h"

namespace hbbp {

class ThreadTimes {
 public:
  // Follows these threads, or all if there are none; `only` is sorted.
  static StatusOr<ThreadTimes> Open(pid_t pid, std::vector<pid_t> only);

  // Returns the threads that run or wait for a CPU. Threads that were started are found within some
  // calls if there are many.
  std::vector<pid_t> ListRunning();

  // Returns the nanoseconds of CPU time of the process up to the last call of ListRunning(), if
  // they are known.
  uint64_t UsedNs() const { return last_ns_; }
  bool IsKnown() const { return last_ns_ != 0; }

  // Returns the nanoseconds of CPU time that the thread has used since the last call for it.
  uint64_t TakeTime(pid_t tid);
  // Drops what all threads have used since then.
  void DropTime();

  // Returns the nanoseconds for which threads ran until they were switched, on average of what
  // TakeTime() saw, or 0 if that is too little to say.
  uint64_t MeanSliceNs() const;

 private:
  struct Usage {
    uint64_t ns = 0;      // CPU time
    uint64_t slices = 0;  // in so many pieces
  };
  // Without descriptors, of which a process may have a thousand, its files are opened each time.
  struct Thread {
    UniqueFd state;  // /proc/PID/task/TID/stat
    UniqueFd times;  // /proc/PID/task/TID/schedstat
    Usage taken;
  };

  ThreadTimes(pid_t pid, std::vector<pid_t> only);
  void ListThreadsNow();
  void AddThread(pid_t tid);
  UniqueFd OpenFile(pid_t tid, const char* name) const;
  Usage ReadUsage(pid_t tid, const Thread& thread) const;
  char ReadState(pid_t tid, const Thread& thread) const;

  pid_t pid_;
  std::vector<pid_t> only_;
  clockid_t clock_;  // of the CPU time of the process
  uint64_t last_ns_ = 0;
  // CPU time of the process that was taken, or was used by threads before they were found.
  uint64_t accounted_ns_ = 0;
  Usage seen_;  // by TakeTime()
  uint64_t next_listing_ns_ = 0;
  std::map<pid_t, Thread> threads_;
};

}  // namespace hbbp

#endif  // HBBP_LIB_ATTACH_THREAD_TIMES_H_
