// HandlerReserve is CPU time that handlers of all threads may take beyond their share, so that a
// program of a second has bursts, too.
//
// If all of it could be taken at once, bursts of cold code, of a millisecond each on some machines,
// would use it up in the first tenth of a second, and each burst behind them would stand for ten
// times as long. A program may end at any time, so that the bursts of each beginning should be
// spread over it: half of the reserve is for the first quarter of the time in which all of it can
// be taken, and so on (the square root).
//
// Contract: async-signal-safe and lock-free. Reset is for the start of a session.
#ifndef HBBP_LIB_TRACE_HANDLER_RESERVE_H_
#define HBBP_LIB_TRACE_HANDLER_RESERVE_H_

#include <atomic>
#include <cstdint>

namespace hbbp::trace {

// Rounded down; of less than 2^32.
constexpr uint64_t SquareRoot(uint64_t value) {
  uint64_t root = 0;
  for (uint64_t bit = uint64_t{1} << 15; bit != 0; bit >>= 1) {
    if ((root + bit) * (root + bit) <= value) root += bit;
  }
  return root;
}

class HandlerReserve {
 public:
  // All of it can be taken after so much CPU time of the program.
  static constexpr uint64_t kSpanNs = 1'000'000'000;
  // No reserve is larger.
  static constexpr uint64_t kMaxNs = 1'000'000'000'000;

  void Reset(uint64_t reserve_ns) {
    reserve_ns_.store(reserve_ns < kMaxNs ? reserve_ns : kMaxNs, std::memory_order_relaxed);
    age_ns_.store(0, std::memory_order_relaxed);
    taken_ns_.store(0, std::memory_order_relaxed);
  }

  // The program has run for so much longer.
  void Advance(uint64_t cpu_ns) {
    if (age_ns_.load(std::memory_order_relaxed) >= kSpanNs) return;
    age_ns_.fetch_add(cpu_ns, std::memory_order_relaxed);
  }

  // Returns how much there is now, up to `ns`, and takes it.
  uint64_t Take(uint64_t ns) {
    uint64_t taken = taken_ns_.load(std::memory_order_relaxed);
    if (taken >= reserve_ns_.load(std::memory_order_relaxed)) return 0;
    const uint64_t available = Available();
    while (taken < available) {
      const uint64_t now = ns < available - taken ? ns : available - taken;
      if (taken_ns_.compare_exchange_weak(taken, taken + now, std::memory_order_relaxed)) {
        return now;
      }
    }
    return 0;
  }

 private:
  // Returns what may have been taken until now.
  uint64_t Available() const {
    constexpr uint64_t kRootOfSpan = SquareRoot(kSpanNs);
    const uint64_t age = age_ns_.load(std::memory_order_relaxed);
    const uint64_t reserve_ns = reserve_ns_.load(std::memory_order_relaxed);
    return age >= kSpanNs ? reserve_ns : reserve_ns * SquareRoot(age) / kRootOfSpan;
  }

  std::atomic<uint64_t> reserve_ns_{0};
  std::atomic<uint64_t> age_ns_{0};
  std::atomic<uint64_t> taken_ns_{0};
};

}  // namespace hbbp::trace

#endif  // HBBP_LIB_TRACE_HANDLER_RESERVE_H_
