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
  uint64_t max_instructions = 0;                        // of all processes together; 0: no bound
  std::function<void(uint64_t instructions)> progress;  // some times a second
  // The process id of the program, before it is executed. The terminal's signals are its business
  // from then on.
  std::function<void(pid_t)> started;
  // Each process that executed something, once it has ended.
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

// Returns when the program and all that it started have ended; if this process dies, so do they.
// Errors: kPermission (ptrace is refused), kNotFound and others (the program cannot be started),
// kUnsupported (more than `max_instructions`; the program was killed), what `process_ended` says.
StatusOr<CountResult> CountInstructions(const CountRequest& request);

}  // namespace hbbp::tools

#endif  // HBBP_TOOLS_COUNT_TRACER_H_
