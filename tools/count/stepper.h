// Runs a program one instruction at a time, with all its threads and the processes that it starts,
// and reports each executed instruction.
//
// An instruction is reported when it has completed: one that faults is not, one that is done again
// after a signal handler is reported once. A rep-prefixed string instruction is reported when its
// last iteration is done. A system call that does not return (exit) is reported.
#ifndef HBBP_TOOLS_COUNT_STEPPER_H_
#define HBBP_TOOLS_COUNT_STEPPER_H_

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "truth/instruction_kind.h"

namespace hbbp::tools {

// What the stepper reports to, of one process.
class SteppedProcess {
 public:
  virtual ~SteppedProcess() = default;

  // The thread executes the instruction at `address` next, or again: a repeated string instruction
  // before each iteration. Memory and registers are those before it.
  virtual InstructionKind Before(pid_t tid, uint64_t address) = 0;
  // The instruction has completed. The thread executes that at `next` afterwards; 0: none.
  virtual void Completed(pid_t tid, uint64_t address, uint64_t next) = 0;
  // The thread has ended: another one may get its number. It is not called for those that end
  // because the process executes a program.
  virtual void ThreadEnded(pid_t tid) = 0;
  // The mappings in [start, start + size) are removed after this.
  virtual void Unmap(uint64_t start, uint64_t size) = 0;
  // Any mapping may change after this.
  virtual void UnmapAll() = 0;
  // The process has executed a program: all earlier mappings are gone.
  virtual void Executed() = 0;
  // The process has ended. An error ends the run.
  virtual Status Ended() = 0;
};

struct StepRequest {
  std::vector<std::string> command;                     // the program is looked up in PATH
  uint64_t max_instructions = 0;                        // 0: no limit
  std::function<void(uint64_t instructions)> progress;  // called a few times a second
  // Gets the process id of the program, before the program is executed. From then on the signals of
  // the terminal are the program's business.
  std::function<void(pid_t)> started;
  // Called for each process, the program's first. If it returns null, the process runs freely.
  std::function<std::unique_ptr<SteppedProcess>(pid_t)> start_process;
};

struct StepResult {
  pid_t pid = 0;
  int exit_status = 0;  // 128 + signal for a program that was killed
  uint64_t instructions = 0;
  uint64_t threads = 0;
  uint64_t processes = 0;
};

// Returns when the program and all processes that it started have ended; if this process dies, so
// do they. Errors: kPermission (ptrace is refused), kNotFound and others (the program cannot be
// started), kUnsupported (more than `max_instructions`; the program was killed), and those of
// SteppedProcess::Ended.
StatusOr<StepResult> StepThrough(const StepRequest& request);

}  // namespace hbbp::tools

#endif  // HBBP_TOOLS_COUNT_STEPPER_H_
