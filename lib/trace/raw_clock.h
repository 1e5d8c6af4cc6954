// RawClockNs reads a clock without the vdso, in which the program may have been interrupted. It is
// not base's ClockNs, because the linker may choose the copy of an inline function from a unit that
// is compiled with instrumentation.
//
// Contract: async-signal-safe.
#ifndef HBBP_LIB_TRACE_RAW_CLOCK_H_
#define HBBP_LIB_TRACE_RAW_CLOCK_H_

#include <sys/syscall.h>
#include <time.h>

#include <cstdint>

#include "base/raw_syscall.h"

namespace hbbp::trace {

[[gnu::always_inline]] inline uint64_t RawClockNs(clockid_t clock) {
  timespec now = {};
  RawSyscall(SYS_clock_gettime, clock, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

}  // namespace hbbp::trace

#endif  // HBBP_LIB_TRACE_RAW_CLOCK_H_
