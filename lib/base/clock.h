// ClockNs reads the clocks that the kernel stamps its records with, in nanoseconds. It does not
// call clock_gettime, because a preloaded library (libfaketime) may replace that.
//
// Contract: async-signal-safe.
#ifndef HBBP_LIB_BASE_CLOCK_H_
#define HBBP_LIB_BASE_CLOCK_H_

#include <sys/syscall.h>
#include <time.h>

#include <cstdint>

namespace hbbp {

// Returns 0 if there is no such clock.
inline uint64_t ClockNs(clockid_t clock) {
  timespec now = {};
  long result = SYS_clock_gettime;
  asm volatile("syscall"
               : "+a"(result)
               : "D"(static_cast<long>(clock)), "S"(&now)
               : "rcx", "r11", "memory");
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

// Returns the time of CLOCK_MONOTONIC so long from now.
inline timespec DeadlineIn(int milliseconds) {
  constexpr uint64_t kSecondNs = 1'000'000'000;
  const uint64_t deadline_ns =
      ClockNs(CLOCK_MONOTONIC) + static_cast<uint64_t>(milliseconds) * 1'000'000;
  return {static_cast<time_t>(deadline_ns / kSecondNs), static_cast<long>(deadline_ns % kSecondNs)};
}

}  // namespace hbbp

#endif  // HBBP_LIB_BASE_CLOCK_H_
