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
    const uint64_t elapsed_ns = now_ns - last_ns_;
    const uint64_t used_ns = std::clamp<uint64_t>(cpu_ns - last_cpu_ns_, 1, elapsed_ns + 1);
    last_ns_ = now_ns;
    last_cpu_ns_ = cpu_ns;
    const uint64_t wanted_ms = static_cast<uint64_t>(interval_ms) * (elapsed_ns / 1000) /
                               std::max<uint64_t>(used_ns / 1000, 1);
    return static_cast<int>(std::clamp<uint64_t>(wanted_ms, static_cast<uint64_t>(interval_ms),
                                                 static_cast<uint64_t>(longest_ms)));
  }

 private:
  uint64_t last_ns_;
  uint64_t last_cpu_ns_;
};

}  // namespace hbbp

#endif  // HBBP_LIB_SESSION_WORKER_PACE_H_
