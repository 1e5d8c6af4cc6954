// WorkerPace says how long the worker waits between two drains: buffers of a program that uses half
// of a CPU fill up half as fast, and those of a program that waits do not. So each wait lasts until
// the program has used as much CPU time as it could in the interval of the backend, if it goes on
// as before.
#ifndef HBBP_LIB_SESSION_WORKER_PACE_H_
#define HBBP_LIB_SESSION_WORKER_PACE_H_

#include <algorithm>
#include <cstdint>

namespace hbbp {

class WorkerPace {
 public:
  // Times are CLOCK_MONOTONIC, and CPU times of all threads but the worker.
  WorkerPace(uint64_t now_ns, uint64_t cpu_ns) : last_ns_(now_ns), last_cpu_ns_(cpu_ns) {}

  // Returns the time of the next wait: at least `interval_ms`, and at most `longest_ms`, which is
  // not less. What the program did since the last call is what it goes on with.
  int NextMs(int interval_ms, int longest_ms, uint64_t now_ns, uint64_t cpu_ns) {
    constexpr double kMinShare = 1e-6;
    const auto elapsed_ns = static_cast<double>(now_ns - last_ns_);
    const auto used_ns = static_cast<double>(cpu_ns - last_cpu_ns_);
    last_ns_ = now_ns;
    last_cpu_ns_ = cpu_ns;
    const double share = elapsed_ns > 0 ? std::clamp(used_ns / elapsed_ns, kMinShare, 1.0) : 1.0;
    return static_cast<int>(std::min<double>(interval_ms / share, longest_ms));
  }

 private:
  uint64_t last_ns_;
  uint64_t last_cpu_ns_;
};

}  // namespace hbbp

#endif  // HBBP_LIB_SESSION_WORKER_PACE_H_
