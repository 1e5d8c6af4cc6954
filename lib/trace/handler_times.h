// HandlerTimes records when the signal handlers of a thread ran, for concurrent samplers: a sample
// of such a time is not one of the program.
//
// Contract: Begin and End are async-signal-safe and called by one thread; another one may call
// Contain at any time. Zeroed memory is a valid object without times.
#ifndef HBBP_LIB_TRACE_HANDLER_TIMES_H_
#define HBBP_LIB_TRACE_HANDLER_TIMES_H_

#include <atomic>
#include <cstdint>

namespace hbbp::trace {

class HandlerTimes {
 public:
  // Only so many newest intervals are kept.
  static constexpr uint64_t kKept = 4096;

  void Begin(uint64_t now_ns) {
    const uint64_t begun = begun_.load(std::memory_order_relaxed);
    Interval& interval = At(begun);
    interval.begin_ns.store(kNever, std::memory_order_relaxed);
    interval.end_ns.store(kNever, std::memory_order_release);
    interval.begin_ns.store(now_ns, std::memory_order_release);
    begun_.store(begun + 1, std::memory_order_release);
  }

  // Returns whether another quarter of those that are kept has begun: samples should be compared
  // with them before they are overwritten. The thread that calls Begin may call it.
  bool HasBegunQuarter() const { return begun_.load(std::memory_order_relaxed) % (kKept / 4) == 0; }

  void End(uint64_t now_ns) {
    At(begun_.load(std::memory_order_relaxed) - 1).end_ns.store(now_ns, std::memory_order_release);
  }

  // Returns whether a handler ran at that time. A handler that still runs has no end yet.
  bool Contain(uint64_t time_ns) const {
    const uint64_t begun = begun_.load(std::memory_order_acquire);
    // The oldest one may be overwritten meanwhile.
    const uint64_t oldest = begun < kKept ? 0 : begun - kKept + 1;
    uint64_t first = oldest, end = begun;
    while (first < end) {
      const uint64_t middle = first + (end - first) / 2;
      if (At(middle).begin_ns.load(std::memory_order_acquire) <= time_ns) {
        first = middle + 1;
      } else {
        end = middle;
      }
    }
    if (first == oldest) return false;
    const Interval& last = At(first - 1);
    return last.begin_ns.load(std::memory_order_acquire) <= time_ns &&
           time_ns <= last.end_ns.load(std::memory_order_acquire);
  }

 private:
  static constexpr uint64_t kNever = UINT64_MAX;

  struct Interval {
    std::atomic<uint64_t> begin_ns;
    std::atomic<uint64_t> end_ns;
  };

  Interval& At(uint64_t number) { return intervals_[number % kKept]; }
  const Interval& At(uint64_t number) const { return intervals_[number % kKept]; }

  std::atomic<uint64_t> begun_;
  Interval intervals_[kKept];
};

}  // namespace hbbp::trace

#endif  // HBBP_LIB_TRACE_HANDLER_TIMES_H_
