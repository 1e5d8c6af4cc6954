// Runs a program to its end, as a shell would.
#ifndef HBBP_TOOLS_RECORD_LAUNCH_H_
#define HBBP_TOOLS_RECORD_LAUNCH_H_

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"

namespace hbbp::tools {

struct ProgramEnd {
  pid_t pid = 0;
  int exit_status = 0;        // 128 + signal for a program that was killed
  int signal = 0;             // 0: it exited by itself
  uint64_t user_time_ns = 0;  // CPU time of it and the descendants that were waited for
  uint64_t time_ns = 0;       // in CLOCK_MONOTONIC
};

using Environment = std::vector<std::pair<std::string, std::string>>;

// All get the process id of the program.
struct LaunchHooks {
  // Is called in the process of the program, which still shares the memory of this one: it may only
  // make system calls.
  std::function<void(pid_t)> before_exec;
  // These two observe the program from outside.
  std::function<Status(pid_t)> before_it_runs;  // if it fails, the program never runs
  std::function<void(pid_t)> while_it_runs;     // called before waiting for its end
};

// From then on, to write more than RLIMIT_FSIZE allows is an error, and not the end of this
// process. What RunProgram starts does not notice.
void OutliveFileSizeLimit();

// Starts `words[0]`, looked up in PATH, and waits for it. `environment` is added to the current
// one; `pid_variable`, unless it is empty, gets the program's process id. SIGINT and SIGQUIT of the
// terminal are the program's business; SIGTERM and SIGHUP are passed on to it. If the program
// cannot be started, the message of the error names it.
StatusOr<ProgramEnd> RunProgram(const std::vector<std::string>& words,
                                const Environment& environment, const std::string& pid_variable,
                                const LaunchHooks& hooks = {});

}  // namespace hbbp::tools

#endif  // HBBP_TOOLS_RECORD_LAUNCH_H_
