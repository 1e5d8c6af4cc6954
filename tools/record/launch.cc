#include "record/launch.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "base/clock.h"
#include "base/unique_fd.h"

namespace hbbp::tools {
namespace {

volatile pid_t program_pid = 0;

void PassOn(int signal_number) {
  const int saved_errno = errno;
  if (program_pid > 0) ::kill(program_pid, signal_number);
  errno = saved_errno;
}

void SetHandler(int signal_number, void (*handler)(int)) {
  struct sigaction action = {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  ::sigaction(signal_number, &action, nullptr);
}

// Runs in the child. Returns only if exec failed, with errno.
void Exec(const std::vector<std::string>& words, const Environment& environment,
          const std::string& pid_variable) {
  for (const auto& [name, value] : environment) ::setenv(name.c_str(), value.c_str(), 1);
  if (!pid_variable.empty()) {
    ::setenv(pid_variable.c_str(), std::to_string(::getpid()).c_str(), 1);
  }
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  ::execvp(arguments[0], arguments.data());
}

}  // namespace

StatusOr<ProgramEnd> RunProgram(const std::vector<std::string>& words,
                                const Environment& environment, const std::string& pid_variable,
                                const LaunchHooks& hooks) {
  // The child waits for a byte from this pipe.
  int go_ends[2];
  if (::pipe2(go_ends, O_CLOEXEC) != 0) return ErrnoStatus(errno, "pipe");
  UniqueFd go_reader(go_ends[0]), go_writer(go_ends[1]);
  // This pipe carries the errno of a failed exec; a successful one closes it.
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return ErrnoStatus(errno, "pipe");
  UniqueFd failure_reader(ends[0]), failure_writer(ends[1]);
  const pid_t pid = ::fork();
  if (pid < 0) return ErrnoStatus(errno, "fork");
  if (pid == 0) {
    go_writer.Reset();
    char go = 0;
    if (TEMP_FAILURE_RETRY(::read(go_reader.get(), &go, 1)) != 1) ::_exit(127);
    Exec(words, environment, pid_variable);
    const int error_number = errno;
    (void)!::write(failure_writer.get(), &error_number, sizeof(error_number));
    ::_exit(127);
  }
  program_pid = pid;
  SetHandler(SIGINT, SIG_IGN);
  SetHandler(SIGQUIT, SIG_IGN);
  SetHandler(SIGTERM, &PassOn);
  SetHandler(SIGHUP, &PassOn);
  // A reader of the summary that goes away must not prevent the removal of the parts.
  SetHandler(SIGPIPE, SIG_IGN);
  failure_writer.Reset();
  Status ready = hooks.before_it_runs ? hooks.before_it_runs(pid) : OkStatus();
  if (ready.ok() && TEMP_FAILURE_RETRY(::write(go_writer.get(), "g", 1)) != 1) {
    ready = ErrnoStatus(errno, words[0] + " was not started: write to its pipe");
  }
  go_writer.Reset();
  int exec_error = 0;
  const ssize_t got =
      TEMP_FAILURE_RETRY(::read(failure_reader.get(), &exec_error, sizeof(exec_error)));
  if (hooks.while_it_runs && ready.ok()) hooks.while_it_runs(pid);
  int wait_status = 0;
  rusage usage = {};
  while (::wait4(pid, &wait_status, 0, &usage) < 0 && errno == EINTR) {
  }
  const uint64_t end_time_ns = ClockNs(CLOCK_MONOTONIC);
  program_pid = 0;
  HBBP_RETURN_IF_ERROR(ready);
  if (got == sizeof(exec_error)) {
    return ErrnoStatus(exec_error, "cannot start " + words[0]);
  }
  ProgramEnd end;
  end.pid = pid;
  end.time_ns = end_time_ns;
  end.user_time_ns = static_cast<uint64_t>(usage.ru_utime.tv_sec) * 1'000'000'000 +
                     static_cast<uint64_t>(usage.ru_utime.tv_usec) * 1000;
  if (WIFSIGNALED(wait_status)) {
    end.signal = WTERMSIG(wait_status);
    end.exit_status = 128 + end.signal;
  } else {
    end.exit_status = WEXITSTATUS(wait_status);
  }
  return end;
}

}  // namespace hbbp::tools
