// Runs a program one instruction at a time, with all its threads and the processes that it starts,
// and counts each executed instruction.
//
// An instruction counts when it has completed: one that faults does not, one that is done again
// after a signal handler counts once. A rep-prefixed string instruction counts when its last
// iteration is done. A system call that does not return (exit) counts.
#ifndef HBBP_TOOLS_COUNT_TRACER_H_
#define HBBP_TOOLS_COUNT_TRACER_H_

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/status.h"
#include "count/counted_process.h"

namespace hbbp::tools {

struct CountRequest {
  std::vector<std::string> command;                     // the program is looked up in PATH
  uint64_t max_instructions = 0;                        // 0: no limit
  std::function<void(uint64_t instructions)> progress;  // called a few times a second
  // Gets the process id of the program, before the program is executed. From then on the signals of
  // the terminal are the program's business.
  std::function<void(pid_t)> started;
  // Called for each process that executed something, after its end.
  std::function<Status(const CountedProcess&)> process_ended;
};

struct CountResult {
  pid_t pid = 0;
  int exit_status = 0;  // 128 + signal for a program that was killed
  uint64_t instructions = 0;
  uint64_t threads = 0;
  uint64_t processes = 0;
  std::vector<std::string> problems;
};

// Returns when the program and all processes that it started have ended; if this process dies, so
// do they. Errors: kPermission (ptrace is refused), kNotFound and others (the program cannot be
// started), kUnsupported (more than `max_instructions`; the program was killed), and those of
// `process_ended`.
StatusOr<CountResult> CountInstructions(const CountRequest& request);

}  // namespace hbbp::tools

#endif  // HBBP_TOOLS_COUNT_TRACER_H_
