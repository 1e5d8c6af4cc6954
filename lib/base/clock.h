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

}  // namespace hbbp

#endif  // HBBP_LIB_BASE_CLOCK_H_
