// What /proc and the clocks of the kernel show of a process.
#ifndef HBBP_TOOLS_TOP_PROCESS_STATUS_H_
#define HBBP_TOOLS_TOP_PROCESS_STATUS_H_

#include <sys/types.h>
#include <time.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"

namespace hbbp::tools {

struct ProcessStatus {
  std::string name;
  pid_t process = 0;  // that the id is a thread of
  char state = '?';   // as ps prints it: 'R', 'S', 'Z'
  uint64_t threads = 0;
  bool has_memory = false;  // threads of the kernel, and what has ended, have none
  bool is_of_kernel = false;
};

// Parses /proc/PID/status, which does not have `is_of_kernel`. What is missing keeps its default.
ProcessStatus ParseProcessStatus(std::string_view text);
StatusOr<ProcessStatus> ReadProcessStatus(pid_t pid);

// Returns why there is nothing to observe: `pid` is a thread, of the kernel or of a process, or has
// ended, or is this process.
Status CheckHasUserCode(pid_t pid, const ProcessStatus& status);

// Measures the CPU time of a process between two calls of Share.
class CpuMeter {
 public:
  explicit CpuMeter(pid_t pid);
  // Returns the CPU time since the last call, or since the start, by the time that has passed: 2.0
  // for two threads that ran all the time. Returns nothing if the process is gone.
  std::optional<double> Share();

 private:
  clockid_t clock_ = 0;
  bool has_clock_ = false;
  uint64_t last_cpu_ns_ = 0;
  uint64_t last_ns_ = 0;
};

}  // namespace hbbp::tools

#endif  // HBBP_TOOLS_TOP_PROCESS_STATUS_H_
