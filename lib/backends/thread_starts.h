// ThreadStarts reports to the worker that the program has started a thread, where threads do not
// inherit a sampler from their parents.
#ifndef HBBP_LIB_BACKENDS_THREAD_STARTS_H_
#define HBBP_LIB_BACKENDS_THREAD_STARTS_H_

#include <atomic>

#include "base/wakeup.h"

namespace hbbp {

// Contract: any thread may call Report at any time, and it is async-signal-safe.
class ThreadStarts {
 public:
  // There is one, as there is one session at a time that traces branches.
  static ThreadStarts& Get() {
    static constinit ThreadStarts starts;
    return starts;
  }

  // Whoever interposes the functions that start threads calls it, and Report from then on.
  void SetAreSeen() { are_seen_.store(true, std::memory_order_relaxed); }
  // Returns whether threads are reported. Those that a system call of the program starts are not.
  bool are_seen() const { return are_seen_.load(std::memory_order_relaxed); }

  // Sets whom to report to; nullptr: no one. A worker must outlive the process.
  void SetWorker(Wakeup* worker) { worker_.store(worker, std::memory_order_release); }

  // The program has started a thread.
  void Report() {
    Wakeup* const worker = worker_.load(std::memory_order_acquire);
    if (worker != nullptr) worker->Report();
  }

 private:
  std::atomic<bool> are_seen_{false};
  std::atomic<Wakeup*> worker_{nullptr};
};

}  // namespace hbbp

#endif  // HBBP_LIB_BACKENDS_THREAD_STARTS_H_
