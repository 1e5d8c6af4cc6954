// SessionInfo: what a session or a feed says of itself while it goes on.
#ifndef HBBP_LIB_SESSION_SESSION_INFO_H_
#define HBBP_LIB_SESSION_SESSION_INFO_H_

#include <cstdint>

namespace hbbp {

struct SessionInfo {
  bool running = false;
  uint64_t samples = 0;
  uint64_t lost = 0;
  uint64_t throttled = 0;
  uint64_t duration_ns = 0;
  uint64_t waiting = 0;  // fed, but not counted yet, because earlier events may follow
  uint64_t dropped = 0;  // fed, but of no use; or there was no memory for them
  uint64_t memory_bytes = 0;
  uint64_t peak_memory_bytes = 0;
  // The following are set by sessions that sample.
  uint64_t cpu_ns = 0;       // that the profiled code used while it ran
  uint64_t overhead_ns = 0;  // that sampling cost, about
  double recent_overhead = 0;
  double period_factor = 1;
  uint64_t period_changes = 0;
};

}  // namespace hbbp

#endif  // HBBP_LIB_SESSION_SESSION_INFO_H_
