// Work: what long work tells of its progress, and what calls it off.
#ifndef HBBP_LIB_BASE_WORK_H_
#define HBBP_LIB_BASE_WORK_H_

#include <atomic>
#include <cstdint>
#include <functional>

#include "base/status.h"

namespace hbbp {

// May be set and read in any thread, and in signal handlers.
class CancelFlag {
 public:
  void Set(bool cancelled) { cancelled_.store(cancelled, std::memory_order_relaxed); }
  bool is_set() const { return cancelled_.load(std::memory_order_relaxed); }

 private:
  static_assert(std::atomic<bool>::is_always_lock_free);
  std::atomic<bool> cancelled_{false};
};

inline Status CancelledStatus() {
  return Status(StatusCode::kCancelled, "called off by its hbbp_cancel");
}

struct Work {
  std::function<void(uint64_t done, uint64_t all)> progress;  // `all` 0: not known
  const CancelFlag* cancel = nullptr;

  // kCancelled if it is to end here.
  Status Tell(uint64_t done, uint64_t all) const {
    if (progress) progress(done, all);
    if (cancel == nullptr || !cancel->is_set()) return OkStatus();
    return CancelledStatus();
  }
};

// Ends what has no other way out, a sort for instance; capi/ makes a status of it.
struct WorkCancelled {};

// Work::Tell where there is no status to return.
inline void TellOrThrow(const Work& work, uint64_t done, uint64_t all) {
  if (!work.Tell(done, all).ok()) throw WorkCancelled();
}

// For loops of steps that take well below a microsecond each, and of which nobody is told.
class CancelCheck {
 public:
  explicit CancelCheck(const CancelFlag* flag) : flag_(flag) {}

  // Throws WorkCancelled soon after the flag was set.
  void Step() {
    if (++steps_ % kLookEvery == 0) Look();
  }
  void Look() const {
    if (flag_ != nullptr && flag_->is_set()) throw WorkCancelled();
  }

 private:
  static constexpr uint32_t kLookEvery = 4096;

  const CancelFlag* const flag_;
  uint32_t steps_ = 0;
};

// The same for work in many small steps, of which the host is told now and then.
class WorkMeter {
 public:
  WorkMeter(const Work& work, uint64_t all) : work_(work), all_(all) {}

  // False if it is to end here, from then on.
  bool Advance(uint64_t steps = 1) {
    done_ += steps;
    if (done_ >= next_ && status_.ok()) {
      next_ = done_ + kTellEvery;
      status_ = work_.Tell(done_ < all_ ? done_ : all_, all_);
    }
    return status_.ok();
  }
  const Status& status() const { return status_; }

 private:
  static constexpr uint64_t kTellEvery = 256;

  const Work& work_;
  const uint64_t all_;
  uint64_t done_ = 0;
  uint64_t next_ = 0;
  Status status_;
};

}  // namespace hbbp

#endif  // HBBP_LIB_BASE_WORK_H_
