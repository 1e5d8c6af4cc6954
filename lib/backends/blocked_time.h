// BlockedTime measures how much CPU time threads spend with a signal blocked, for which a sampler
// by that signal has no samples: threads of pools often block all signals.
#ifndef HBBP_LIB_BACKENDS_BLOCKED_TIME_H_
#define HBBP_LIB_BACKENDS_BLOCKED_TIME_H_

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <vector>

namespace hbbp {

class BlockedTime {
 public:
  void Begin(int signal);

  // Checks some of these threads of the calling process, which are sorted, and others the next
  // time, in 20 us each or so. The CPU time between two checks of a thread counts if both find the
  // signal blocked. `is_in_handler` says of which threads the mask is that of a handler of the
  // library.
  void Scan(const std::vector<pid_t>& threads, const std::function<bool(pid_t)>& is_in_handler);

  uint64_t ns() const { return ns_; }

 private:
  static constexpr size_t kThreadsByScan = 16;

  void Check(pid_t tid, bool is_blocked);

  int signal_ = 0;
  uint64_t ns_ = 0;
  pid_t last_ = 0;                         // of the last check
  std::map<pid_t, uint64_t> blocked_cpu_;  // CPU times of threads that were found to block it
};

}  // namespace hbbp

#endif  // HBBP_LIB_BACKENDS_BLOCKED_TIME_H_
