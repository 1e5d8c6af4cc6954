// WorkerPace says how long the worker waits between two drains. Buffers of a program that uses a
// tenth of a CPU fill up ten times as slowly, and those of a program that waits do not. So each
// wait lasts until the program has used as much CPU time as it could in the interval of the
// backend, if it goes on as before, but at most twice as long as the one before.
#ifndef HBBP_LIB_SESSION_WORKER_PACE_H_
#define HBBP_LIB_SESSION_WORKER_PACE_H_

#include <algorithm>
#include <cstdint>

namespace hbbp {

class WorkerPace {
 public:
  // Times are CLOCK_MONOTONIC, and CPU times of all threads but the worker.
  WorkerPace(uint64_t now_ns, uint64_t cpu_ns) : last_ns_(now_ns), last_cpu_ns_(cpu_ns) {}

  // Returns the time of the next wait: at least `interval_ms`, and at most `idle_ms`, which is not
  // less.
  int NextMs(int interval_ms, int idle_ms, uint64_t now_ns, uint64_t cpu_ns) {
    constexpr double kMinShare = 1e-6;
    const auto elapsed_ns = static_cast<double>(now_ns - last_ns_);
    const auto used_ns = static_cast<double>(cpu_ns - last_cpu_ns_);
    last_ns_ = now_ns;
    last_cpu_ns_ = cpu_ns;
    is_idle_ = used_ns < kFewNs;
    const double share = elapsed_ns > 0 ? std::clamp(used_ns / elapsed_ns, kMinShare, 1.0) : 1.0;
    const int longest_ms = is_idle_ ? idle_ms : std::min(idle_ms, kLongestOfActiveMs);
    const double wanted_ms = std::min(interval_ms / share, 2.0 * wait_ms_);
    wait_ms_ = std::max(interval_ms, static_cast<int>(std::min<double>(wanted_ms, longest_ms)));
    return wait_ms_;
  }

  // Returns whether the program used hardly any CPU time between the last two calls of NextMs.
  bool is_idle() const { return is_idle_; }

  // The program does what it did not do before: the next wait is short.
  void Restart() { wait_ms_ = 0; }

  static constexpr uint64_t kFewNs = 1'000'000;

 private:
  // So soon bursts are delivered, and what handlers must not touch is known.
  static constexpr int kLongestOfActiveMs = 1000;

  uint64_t last_ns_;
  uint64_t last_cpu_ns_;
  int wait_ms_ = 0;
  bool is_idle_ = false;
};

}  // namespace hbbp

#endif  // HBBP_LIB_SESSION_WORKER_PACE_H_
