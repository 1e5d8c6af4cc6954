// SharedStart is what the forked processes of a program need not each begin anew, if it is in
// memory that they share: the samples that were taken at the density of a start, in all its
// threads, and what the first of them found out.
#ifndef HBBP_LIB_BASE_SHARED_START_H_
#define HBBP_LIB_BASE_SHARED_START_H_

#include <atomic>
#include <cstdint>

namespace hbbp {

// All zero, as new memory is, nothing is taken or known. Signal handlers may use it.
struct SharedStart {
  std::atomic<uint64_t> dense_samples{0};
  // Perf events cost so much by context switches that timers have replaced them.
  std::atomic<bool> prefers_timers{false};
};

static_assert(std::atomic<uint64_t>::is_always_lock_free);

}  // namespace hbbp

#endif  // HBBP_LIB_BASE_SHARED_START_H_
