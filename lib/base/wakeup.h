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

// Contract: Post is async-signal-safe, from any thread; one thread at a time waits.
class Wakeup {
 public:
  // Ends the wait, or the next one if there is none now.
  void Post() {
    if (posted_.exchange(1, std::memory_order_release) != 0) return;
    trace::RawSyscall(SYS_futex, &posted_, FUTEX_WAKE_PRIVATE, 1);
  }

  // Returns whether there was a Post, which no wait ends then.
  bool Take() { return posted_.exchange(0, std::memory_order_acquire) != 0; }

  // Waits until Post, or until that time of CLOCK_MONOTONIC.
  void WaitUntil(const timespec& deadline) {
    while (!Take()) {
      const long result = trace::RawSyscall(SYS_futex, &posted_, FUTEX_WAIT_BITSET_PRIVATE, 0,
                                            &deadline, nullptr, FUTEX_BITSET_MATCH_ANY);
      const bool may_go_on = result == 0 || result == -EINTR || result == -EAGAIN;
      if (!may_go_on) return;
    }
  }

  // Forgets a Post, in the child after fork.
  void Reset() { posted_.store(0, std::memory_order_relaxed); }

  Wakeup* next_spare = nullptr;  // of SessionRegistry

 private:
  std::atomic<uint32_t> posted_{0};
};

}  // namespace hbbp

#endif  // HBBP_LIB_BASE_WAKEUP_H_
