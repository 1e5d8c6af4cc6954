// Does work whose amount is measured in CPU time, so that tests do not depend on the machine's
// load.
#ifndef HBBP_TESTS_SUPPORT_CPU_WORK_H_
#define HBBP_TESTS_SUPPORT_CPU_WORK_H_

#include <time.h>

#include <cstdint>

namespace hbbp {

inline uint64_t ThreadCpuNs() {
  timespec now;
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

// Runs user code for some ten microseconds.
[[gnu::noinline]] inline void SpinABit() {
  for (int i = 0; i < 20'000; ++i) asm volatile("");
}

// Runs user code for that long, and returns how long it really took.
inline uint64_t Spin(uint64_t cpu_ns) {
  const uint64_t begin = ThreadCpuNs();
  uint64_t now = begin;
  while (now - begin < cpu_ns) {
    for (int i = 0; i < 20; ++i) SpinABit();
    now = ThreadCpuNs();
  }
  return now - begin;
}

}  // namespace hbbp

#endif  // HBBP_TESTS_SUPPORT_CPU_WORK_H_
