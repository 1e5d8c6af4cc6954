#include "count/traced_child.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/files.h"

namespace hbbp::tools {
namespace {

constexpr long kOptions = PTRACE_O_EXITKILL | PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE |
                          PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACEEXEC;

// Returns the number after "KEY:" in /proc/self/status, or 0 if there is none.
long OwnStatus(const std::string& key) {
  const StatusOr<std::string> text = ReadTextFile("/proc/self/status");
  if (!text.ok()) return 0;
  const size_t at = text->find("\n" + key + ":");
  return at == std::string::npos ? 0
                                 : std::strtol(text->c_str() + at + key.size() + 2, nullptr, 10);
}

Status Refused(int error_number) {
  std::string what = std::string("ptrace: ") + std::strerror(error_number) + ": ";
  const StatusOr<std::string> scope = ReadTextFile("/proc/sys/kernel/yama/ptrace_scope");
  if (OwnStatus("TracerPid") != 0) {
    what +=
        "this process is traced itself (strace, gdb), and so would the program be; run hbbp "
        "count on its own";
  } else if (scope.ok() && scope->starts_with('3')) {
    what += "kernel.yama.ptrace_scope is 3, which forbids it until the next boot";
  } else if (OwnStatus("Seccomp") == 2) {
    what +=
        "a seccomp filter forbids it, as some containers have; start the container with "
        "--cap-add=SYS_PTRACE";
  } else {
    what += "a security module forbids it; its log says which rule";
  }
  return Status(
      StatusCode::kPermission,
      what + ". valgrind needs no ptrace: docs/guide/truth.md describes how to use its counts");
}

[[noreturn]] void RunChild(const std::vector<std::string>& command, int go, int failure) {
  char byte = 0;
  if (::read(go, &byte, 1) != 1) ::_exit(127);
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  ::execvp(arguments[0], arguments.data());
  const int error_number = errno;
  (void)!::write(failure, &error_number, sizeof(error_number));
  ::_exit(127);
}

}  // namespace

StatusOr<TracedChild> TracedChild::Start(const std::vector<std::string>& command) {
  int go_ends[2];
  if (::pipe2(go_ends, O_CLOEXEC) != 0) return ErrnoStatus(errno, "pipe");
  UniqueFd go_reader(go_ends[0]), go_writer(go_ends[1]);
  int failure_ends[2];
  if (::pipe2(failure_ends, O_CLOEXEC) != 0) return ErrnoStatus(errno, "pipe");
  UniqueFd failure_reader(failure_ends[0]), failure_writer(failure_ends[1]);
  TracedChild child;
  child.pid_ = ::fork();
  if (child.pid_ < 0) return ErrnoStatus(errno, "fork");
  if (child.pid_ == 0) {
    go_writer.Reset();
    RunChild(command, go_reader.get(), failure_writer.get());
  }
  child.go_ = std::move(go_writer);
  child.failure_ = std::move(failure_reader);
  if (::ptrace(PTRACE_SEIZE, child.pid_, nullptr, kOptions) != 0) {
    const int error_number = errno;
    ::kill(child.pid_, SIGKILL);
    ::waitpid(child.pid_, nullptr, 0);
    return Refused(error_number);
  }
  return child;
}

void TracedChild::Go() {
  (void)!::write(go_.get(), "g", 1);
  go_.Reset();
}

Status TracedChild::ExecFailure(const std::string& program) const {
  int error_number = 0;
  if (::read(failure_.get(), &error_number, sizeof(error_number)) != sizeof(error_number)) {
    return OkStatus();
  }
  return ErrnoStatus(error_number, "cannot start " + program);
}

}  // namespace hbbp::tools
