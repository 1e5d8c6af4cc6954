// RunProgram starts the program, in a child that shares memory until then or in one that waits
// until its observer is ready, passes signals on to it, and waits for its end. Call has what exec
// needs. It is made beforehand, because a child that shares memory may make system calls only.
#include "record/launch.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <deque>
#include <span>
#include <string_view>

#include "base/clock.h"
#include "base/unique_fd.h"

namespace hbbp::tools {
namespace {

volatile pid_t program_pid = 0;
bool restores_file_size_signal = false;

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

// The arguments of exec.
class Call {
 public:
  Call(const std::vector<std::string>& words, const Environment& environment,
       const std::string& pid_variable) {
    for (const std::string& word : words) arguments_.push_back(const_cast<char*>(word.c_str()));
    arguments_.push_back(nullptr);
    for (char** variable = environ; *variable != nullptr; ++variable) {
      environment_.push_back(*variable);
    }
    for (const auto& [name, value] : environment) Set(name + "=" + value);
    if (!pid_variable.empty()) {
      constexpr size_t kMaxDigits = 10;
      char* const text = Set(pid_variable + "=" + std::string(kMaxDigits, '\0'));
      pid_digits_ = {text + pid_variable.size() + 1, kMaxDigits};
    }
    environment_.push_back(nullptr);
  }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  // Makes system calls only. Returns if exec failed, with errno.
  void Execute() {
    if (!pid_digits_.empty()) {
      std::to_chars(pid_digits_.data(), pid_digits_.data() + pid_digits_.size(), ::getpid());
    }
    if (restores_file_size_signal) ::signal(SIGXFSZ, SIG_DFL);
    ::execvpe(arguments_[0], arguments_.data(), environment_.data());
  }

 private:
  // Adds the variable, or replaces the one of its name.
  char* Set(std::string text) {
    const std::string_view name(text.data(), text.find('=') + 1);
    const auto known = std::find_if(
        environment_.begin(), environment_.end(),
        [name](const char* other) { return std::string_view(other).starts_with(name); });
    char* const kept = texts_.emplace_back(std::move(text)).data();
    if (known != environment_.end()) {
      *known = kept;
    } else {
      environment_.push_back(kept);
    }
    return kept;
  }

  std::vector<char*> arguments_;
  std::vector<char*> environment_;
  std::deque<std::string> texts_;  // whose addresses stay
  std::span<char> pid_digits_;
};

// A hook that wrote to a pipe without a reader left one.
void DiscardPendingSigpipe() {
  sigset_t sigpipe;
  ::sigemptyset(&sigpipe);
  ::sigaddset(&sigpipe, SIGPIPE);
  const timespec no_time = {};
  ::sigtimedwait(&sigpipe, nullptr, &no_time);
}

// Starts the program in a child that shares the memory of this process until then, which is
// suspended meanwhile: copying it takes longer than all else here. The program gets `mask`.
[[gnu::noinline]] pid_t StartSharing(Call* call, const LaunchHooks& hooks, const sigset_t& mask,
                                     volatile int* exec_error) {
  const pid_t pid = ::vfork();
  if (pid != 0) return pid;
  if (hooks.before_exec) hooks.before_exec(::getpid());
  DiscardPendingSigpipe();
  ::sigprocmask(SIG_SETMASK, &mask, nullptr);
  call->Execute();
  *exec_error = errno;
  ::_exit(127);
}

void PassSignalsTo(pid_t program) {
  program_pid = program;
  SetHandler(SIGINT, SIG_IGN);
  SetHandler(SIGQUIT, SIG_IGN);
  SetHandler(SIGTERM, &PassOn);
  SetHandler(SIGHUP, &PassOn);
  // A reader of the summary that goes away must not prevent the removal of the parts.
  SetHandler(SIGPIPE, SIG_IGN);
}

// Starts the program in a child that waits until `before_it_runs` has returned, whose failure
// becomes `ready`.
StatusOr<pid_t> StartObserved(Call* call, const LaunchHooks& hooks, const std::string& name,
                              Status* ready, int* exec_error) {
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
    call->Execute();
    const int error_number = errno;
    (void)!::write(failure_writer.get(), &error_number, sizeof(error_number));
    ::_exit(127);
  }
  PassSignalsTo(pid);
  failure_writer.Reset();
  *ready = hooks.before_it_runs(pid);
  if (ready->ok() && TEMP_FAILURE_RETRY(::write(go_writer.get(), "g", 1)) != 1) {
    *ready = ErrnoStatus(errno, name + " was not started: write to its pipe");
  }
  go_writer.Reset();
  if (TEMP_FAILURE_RETRY(::read(failure_reader.get(), exec_error, sizeof(*exec_error))) !=
      sizeof(*exec_error)) {
    *exec_error = 0;
  }
  return pid;
}

}  // namespace

void OutliveFileSizeLimit() {
  struct sigaction action = {};
  ::sigaction(SIGXFSZ, nullptr, &action);
  if (action.sa_handler != SIG_DFL) return;
  SetHandler(SIGXFSZ, SIG_IGN);
  restores_file_size_signal = true;
}

StatusOr<ProgramEnd> RunProgram(const std::vector<std::string>& words,
                                const Environment& environment, const std::string& pid_variable,
                                const LaunchHooks& hooks) {
  Call call(words, environment, pid_variable);
  Status ready;
  int exec_error = 0;
  pid_t pid;
  if (hooks.before_it_runs) {
    HBBP_ASSIGN_OR_RETURN(pid, StartObserved(&call, hooks, words[0], &ready, &exec_error));
  } else {
    // Signals that come before they can be passed on wait.
    sigset_t blocked, mask;
    ::sigemptyset(&blocked);
    for (const int number : {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGPIPE}) {
      ::sigaddset(&blocked, number);
    }
    ::sigprocmask(SIG_BLOCK, &blocked, &mask);
    volatile int error_number = 0;
    pid = StartSharing(&call, hooks, mask, &error_number);
    const int fork_error = errno;
    if (pid >= 0) PassSignalsTo(pid);
    ::sigprocmask(SIG_SETMASK, &mask, nullptr);
    if (pid < 0) return ErrnoStatus(fork_error, "fork");
    exec_error = error_number;
  }
  if (hooks.while_it_runs && ready.ok()) hooks.while_it_runs(pid);
  int wait_status = 0;
  rusage usage = {};
  while (::wait4(pid, &wait_status, 0, &usage) < 0 && errno == EINTR) {
  }
  const uint64_t end_time_ns = ClockNs(CLOCK_MONOTONIC);
  program_pid = 0;
  HBBP_RETURN_IF_ERROR(ready);
  if (exec_error != 0) {
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
