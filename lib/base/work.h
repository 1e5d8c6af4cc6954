// Work lets long operations report their progress and be cancelled.
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

inline constexpr char kCancelledMessage[] = "cancelled by its hbbp_cancel";

inline Status CancelledStatus() { return Status(StatusCode::kCancelled, kCancelledMessage); }

struct Work {
  std::function<void(uint64_t done, uint64_t all)> progress;  // `all` is 0 if it is unknown
  const CancelFlag* cancel = nullptr;

  // Returns kCancelled if the work was cancelled.
  Status Report(uint64_t done, uint64_t all) const {
    if (progress) progress(done, all);
    return Check();
  }
  Status Check() const {
    return cancel != nullptr && cancel->is_set() ? CancelledStatus() : OkStatus();
  }
};

// Thrown out of code that cannot return a status, such as a sort; capi/ turns it into a status.
struct WorkCancelled {};

// Calls Work::Report where no status can be returned.
inline void ReportOrThrow(const Work& work, uint64_t done, uint64_t all) {
  if (!work.Report(done, all).ok()) throw WorkCancelled();
}

// Checks for cancellation in loops whose steps take well below a microsecond and are not reported.
class CancelCheck {
 public:
  explicit CancelCheck(const CancelFlag* flag) : flag_(flag) {}

  // Throws WorkCancelled soon after the flag was set.
  void Step() {
    if (++steps_ % kCheckEvery == 0) CheckNow();
  }
  void CheckNow() const {
    if (flag_ != nullptr && flag_->is_set()) throw WorkCancelled();
  }

 private:
  static constexpr uint32_t kCheckEvery = 4096;

  const CancelFlag* const flag_;
  uint32_t steps_ = 0;
};

// Reports work of many small steps to the host once every kReportEvery steps, and checks for
// cancellation then.
class WorkMeter {
 public:
  WorkMeter(const Work& work, uint64_t all) : work_(work), all_(all) {}

  // Throws WorkCancelled instead of returning false.
  void AdvanceOrThrow(uint64_t steps = 1) {
    if (!Advance(steps)) throw WorkCancelled();
  }
  // Returns false from the moment that the work was cancelled.
  bool Advance(uint64_t steps = 1) {
    done_ += steps;
    if (done_ >= next_ && status_.ok()) {
      next_ = done_ + kReportEvery;
      status_ = work_.Report(done_ < all_ ? done_ : all_, all_);
    }
    return status_.ok();
  }
  const Status& status() const { return status_; }

 private:
  static constexpr uint64_t kReportEvery = 256;

  const Work& work_;
  const uint64_t all_;
  uint64_t done_ = 0;
  uint64_t next_ = 0;
  Status status_;
};

}  // namespace hbbp

#endif  // HBBP_LIB_BASE_WORK_H_
