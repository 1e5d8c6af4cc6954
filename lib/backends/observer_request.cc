#include "backends/observer_request.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>

#include <climits>

#include "base/clock.h"
#include "base/raw_syscall.h"

namespace hbbp {

ObserverRequest& ObserverRequest::Get() {
  static constinit ObserverRequest request;
  return request;
}

void ObserverRequest::Open(Wakeup* worker) {
  worker_ = worker;
  is_made_ = false;
  is_open_ = worker != nullptr;
}

void ObserverRequest::Close() {
  if (is_open_.exchange(0) == 0) return;
  trace::RawSyscall(SYS_futex, &is_open_, FUTEX_WAKE_PRIVATE, INT_MAX);
}

// A worker that is too busy is not waited for again.
void ObserverRequest::MakeAndWait() {
  constexpr uint64_t kMaxWaitNs = 5'000'000;
  constexpr timespec kStep = {0, 1'000'000};
  if (is_open_ == 0) return;
  const uint64_t deadline_ns = ClockNs(CLOCK_MONOTONIC) + kMaxWaitNs;
  is_made_ = true;
  worker_.load()->Post();
  while (is_open_ != 0 && ClockNs(CLOCK_MONOTONIC) < deadline_ns) {
    trace::RawSyscall(SYS_futex, &is_open_, FUTEX_WAIT_PRIVATE, 1, &kStep);
  }
  is_open_ = 0;
}

}  // namespace hbbp
