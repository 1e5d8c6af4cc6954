#include "pmu_model/single_stepper.h"

#include <signal.h>
#include <stddef.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>

#include <cerrno>

#include "pmu_model/child.h"
#include "pmu_model/process_code.h"
#include "pmu_model/trace_builder.h"

namespace hbbp::simulation {
namespace {

Status NotStarted(const std::string& program) {
  return MakeStatus(StatusCode::kNotFound, "%s could not be started; is it there, and executable?",
                    program.c_str());
}

}  // namespace

StatusOr<Trace> TraceBySingleStep(const std::vector<std::string>& command,
                                  uint64_t max_instructions) {
  HBBP_ASSIGN_OR_RETURN(
      Child child, Child::Start(command, [] { ::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr); }));
  HBBP_ASSIGN_OR_RETURN(int status, child.Wait());
  if (!WIFSTOPPED(status)) return NotStarted(command[0]);
  const pid_t pid = child.pid();
  if (::ptrace(PTRACE_SETOPTIONS, pid, nullptr, PTRACE_O_EXITKILL | PTRACE_O_TRACEEXEC) != 0) {
    return ErrnoStatus(errno, "ptrace of " + command[0]);
  }
  ProcessCode code(pid);
  TraceBuilder builder(&code, max_instructions);
  long signal = 0;
  while (true) {
    if (signal == 0) {
      errno = 0;
      const long address = ::ptrace(PTRACE_PEEKUSER, pid, offsetof(user_regs_struct, rip), nullptr);
      if (errno != 0) return ErrnoStatus(errno, "reading the registers of " + command[0]);
      if (!builder.Add(static_cast<uint64_t>(address))) break;
    }
    if (::ptrace(PTRACE_SINGLESTEP, pid, nullptr, signal) != 0) {
      return ErrnoStatus(errno, "single-stepping " + command[0]);
    }
    HBBP_ASSIGN_OR_RETURN(status, child.Wait());
    if (!WIFSTOPPED(status)) break;
    if (status >> 8 == (SIGTRAP | PTRACE_EVENT_EXEC << 8)) {
      return MakeStatus(StatusCode::kUnsupported,
                        "%s runs another program in its place; trace that one", command[0].c_str());
    }
    signal = WSTOPSIG(status) == SIGTRAP ? 0 : WSTOPSIG(status);
  }
  return builder.Finish(command[0]);
}

}  // namespace hbbp::simulation
