// A lock that is not waited for when the work that needs it is cancelled.
#ifndef HBBP_LIB_SESSION_CANCELLABLE_LOCK_H_
#define HBBP_LIB_SESSION_CANCELLABLE_LOCK_H_

#include <time.h>

#include <mutex>

#include "base/work.h"

namespace hbbp {

// Throws WorkCancelled, without the lock, if `cancel` is set meanwhile. If it is NULL, waits as
// ever.
inline void LockUnlessCancelled(const CancelFlag* cancel, std::unique_lock<std::mutex>* lock) {
  if (cancel == nullptr) return lock->lock();
  constexpr timespec kPause = {0, 1'000'000};
  while (!lock->try_lock()) {
    CancelCheck(cancel).CheckNow();
    ::nanosleep(&kPause, nullptr);
  }
}

}  // namespace hbbp

#endif  // HBBP_LIB_SESSION_CANCELLABLE_LOCK_H_
