// Wakeup lets one thread sleep until another one, or a signal handler, calls it.
#ifndef HBBP_LIB_BASE_WAKEUP_H_
#define HBBP_LIB_BASE_WAKEUP_H_

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>

#include <atomic>
#include <cerrno>
#include <cstdint>

#include "base/raw_syscall.h"

namespace hbbp {

// Contract: Post and Report are async-signal-safe, from any thread; one thread at a time waits and
// calls the other functions.
class Wakeup {
 public:
  // Ends the wait, or the next one if there is none now.
  void Post() {
    if (posted_.exchange(1, std::memory_order_release) != 0) return;
    trace::RawSyscall(SYS_futex, &posted_, FUTEX_WAKE_PRIVATE, 1);
  }

  // Returns whether there was a Post, which no wait ends then.
  bool Take() { return posted_.exchange(0, std::memory_order_acquire) != 0; }

  // Does the same if a report is expected, and costs a load if not.
  void Report() {
    if (!expects_report_.load(std::memory_order_relaxed)) return;
    if (!expects_report_.exchange(false, std::memory_order_relaxed)) return;
    is_reported_.store(true, std::memory_order_relaxed);
    Post();
  }
  // Expects one report, until TakeReport.
  void ExpectReport() { expects_report_.store(true, std::memory_order_relaxed); }
  // Returns whether there was one.
  bool TakeReport() {
    expects_report_.store(false, std::memory_order_relaxed);
    return is_reported_.exchange(false, std::memory_order_relaxed);
  }

  // Waits until Post, or until that time of CLOCK_MONOTONIC. Returns whether there was a Post.
  bool WaitUntil(const timespec& deadline) {
    while (!Take()) {
      const long result = trace::RawSyscall(SYS_futex, &posted_, FUTEX_WAIT_BITSET_PRIVATE, 0,
                                            &deadline, nullptr, FUTEX_BITSET_MATCH_ANY);
      const bool may_go_on = result == 0 || result == -EINTR || result == -EAGAIN;
      if (!may_go_on) return false;
    }
    return true;
  }

  // Forgets a Post, in the child after fork.
  void Reset() {
    posted_.store(0, std::memory_order_relaxed);
    (void)TakeReport();
  }

  Wakeup* next_spare = nullptr;  // of SessionRegistry

 private:
  std::atomic<uint32_t> posted_{0};
  std::atomic<bool> expects_report_{false};
  std::atomic<bool> is_reported_{false};
};

}  // namespace hbbp

#endif  // HBBP_LIB_BASE_WAKEUP_H_
