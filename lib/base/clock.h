// Clocks of the system, in nanoseconds.
//
// Contract: async-signal-safe.
#ifndef HBBP_LIB_BASE_CLOCK_H_
#define HBBP_LIB_BASE_CLOCK_H_

#include <time.h>

#include <cstdint>

namespace hbbp {

inline uint64_t ClockNs(clockid_t clock) {
  timespec now = {};
  ::clock_gettime(clock, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

}  // namespace hbbp

#endif  // HBBP_LIB_BASE_CLOCK_H_
