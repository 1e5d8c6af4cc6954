// Valgrind writes its log into a pipe, which is read while the program runs: LackeyTrace makes
// steps of the text, StepMerger passes them on. The process is up to a pipe ahead: code is taken
// from the files that it has mapped, and only generated code from its memory. So that this is still
// there at the end, ptrace stops the process at its exit until the pipe is empty. Of a program that
// the process executes afterwards valgrind has no instructions.
#include "probe/probe_by_valgrind.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <string_view>
#include <utility>
#include <vector>

#include "base/unique_fd.h"
#include "format.h"
#include "probe/lackey_trace.h"

namespace hbbp::tools {
namespace {

constexpr size_t kBufferBytes = 1 << 18;
constexpr uint32_t kThread = 1;  // all of them

[[noreturn]] void RunValgrind(const std::vector<std::string>& command, int log, int go,
                              int failure) {
  const std::string log_option = "--log-fd=" + std::to_string(log);
  std::vector<std::string> words = {"valgrind",
                                    "--tool=lackey",
                                    "--trace-mem=yes",
                                    "--basic-counts=no",
                                    "-q",
                                    log_option,
                                    "--child-silent-after-fork=yes"};
  words.insert(words.end(), command.begin(), command.end());
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  char byte = 0;
  if (::read(go, &byte, 1) != 1) ::_exit(127);
  ::fcntl(log, F_SETFD, 0);
  ::execvp(arguments[0], arguments.data());
  const int error_number = errno;
  (void)!::write(failure, &error_number, sizeof(error_number));
  ::_exit(127);
}

uint64_t CountThreads(pid_t pid) {
  // The directory has a link from that of each thread, one from that of the process, and its own.
  constexpr uint64_t kOtherLinks = 2;
  struct stat tasks = {};
  if (::stat(("/proc/" + std::to_string(pid) + "/task").c_str(), &tasks) != 0) return 1;
  return std::max<uint64_t>(tasks.st_nlink, kOtherLinks + 1) - kOtherLinks;
}

// Returns whether valgrind runs the process, and neither its launcher nor another program.
bool RunsLackey(pid_t pid) {
  char path[PATH_MAX];
  const ssize_t size =
      ::readlink(("/proc/" + std::to_string(pid) + "/exe").c_str(), path, sizeof(path));
  return size > 0 && BaseName({path, static_cast<size_t>(size)}).starts_with("lackey-");
}

// Passes steps on, iterations of a repeated string instruction as one.
class StepMerger {
 public:
  explicit StepMerger(ProbedProgram* program) : program_(*program) {}

  void Take(const LackeyTrace::Step& step) {
    const ProbedInstruction& instruction = program_.code().At(step.pc).instruction;
    const bool is_repeated = instruction.properties.is_repeated;
    if (!has_first_) first_ = step;
    has_first_ = is_repeated && step.next == step.pc;
    if (has_first_) return;
    InstructionEvent event;
    event.next = step.next;
    event.address = first_.address;
    event.size = first_.size;
    program_.Execute(kThread, step.pc, event);
  }

 private:
  ProbedProgram& program_;
  LackeyTrace::Step first_;  // iteration
  bool has_first_ = false;
};

// Valgrind with the program, and its log.
class ValgrindProcess {
 public:
  static StatusOr<ValgrindProcess> Start(const std::vector<std::string>& command);

  pid_t pid() const { return pid_; }
  // Reads a part of the log; empty at the end of the process.
  std::string_view Read();
  int exit_status() const { return exit_status_; }
  bool executed_another() const { return executed_another_; }

 private:
  void HandleStops();

  pid_t pid_ = 0;
  UniqueFd log_;
  bool is_exiting_ = false;  // stopped until the log is empty
  bool has_ended_ = false;
  int exit_status_ = 0;
  bool executed_another_ = false;
  std::vector<char> buffer_ = std::vector<char>(kBufferBytes);
};

StatusOr<ValgrindProcess> ValgrindProcess::Start(const std::vector<std::string>& command) {
  int ends[3][2];
  UniqueFd readers[3], writers[3];
  for (int i = 0; i < 3; ++i) {
    if (::pipe2(ends[i], O_CLOEXEC) != 0) return ErrnoStatus(errno, "pipe");
    readers[i] = UniqueFd(ends[i][0]);
    writers[i] = UniqueFd(ends[i][1]);
  }
  enum { kLog, kGo, kFailure };
  ValgrindProcess process;
  process.pid_ = ::fork();
  if (process.pid_ < 0) return ErrnoStatus(errno, "fork");
  if (process.pid_ == 0) {
    writers[kGo].Reset();
    RunValgrind(command, writers[kLog].get(), readers[kGo].get(), writers[kFailure].get());
  }
  writers[kLog].Reset();
  writers[kFailure].Reset();
  ::ptrace(PTRACE_SEIZE, process.pid_, nullptr, PTRACE_O_TRACEEXIT | PTRACE_O_EXITKILL);
  (void)!::write(writers[kGo].get(), "g", 1);
  int error_number = 0;
  if (::read(readers[kFailure].get(), &error_number, sizeof(error_number)) ==
      sizeof(error_number)) {
    ::kill(process.pid_, SIGKILL);
    ::waitpid(process.pid_, nullptr, 0);
    return ErrnoStatus(error_number,
                       "cannot start valgrind; install it, or take the program's instructions by "
                       "--stream step");
  }
  process.log_ = std::move(readers[kLog]);
  ::fcntl(process.log_.get(), F_SETFL, O_NONBLOCK);
  return process;
}

void ValgrindProcess::HandleStops() {
  int status = 0;
  while (!has_ended_ && ::waitpid(pid_, &status, WNOHANG) == pid_) {
    if (!WIFSTOPPED(status)) {
      has_ended_ = true;
      exit_status_ = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    } else if (status >> 16 == PTRACE_EVENT_EXIT) {
      is_exiting_ = true;
      executed_another_ = !RunsLackey(pid_);
    } else if (status >> 16 == PTRACE_EVENT_STOP) {
      const bool is_group_stop = WSTOPSIG(status) != SIGTRAP;
      ::ptrace(is_group_stop ? PTRACE_LISTEN : PTRACE_CONT, pid_, nullptr, nullptr);
    } else {
      ::ptrace(PTRACE_CONT, pid_, nullptr, WSTOPSIG(status));
    }
  }
}

std::string_view ValgrindProcess::Read() {
  constexpr int kWaitMs = 5;
  while (true) {
    const bool had_ended = has_ended_;
    const ssize_t size = ::read(log_.get(), buffer_.data(), buffer_.size());
    if (size > 0) return {buffer_.data(), static_cast<size_t>(size)};
    // What the process has written before it ended was read after it ended.
    if (had_ended) return {};
    if (is_exiting_) {
      is_exiting_ = false;
      ::ptrace(PTRACE_CONT, pid_, nullptr, nullptr);
    }
    pollfd readable = {log_.get(), POLLIN, 0};
    const bool is_closed = size == 0;
    ::poll(&readable, is_closed ? 0 : 1, kWaitMs);
    HandleStops();
  }
}

}  // namespace

StatusOr<ValgrindResult> ProbeByValgrind(const StepRequest& request, ProbedProgram* program) {
  HBBP_ASSIGN_OR_RETURN(ValgrindProcess process, ValgrindProcess::Start(request.command));
  if (request.started) request.started(process.pid());
  const auto is_current = [pid = process.pid()] { return RunsLackey(pid); };
  program->Start(process.pid(), is_current);
  StepMerger merger(program);
  LackeyTrace trace([&merger](const LackeyTrace::Step& step) { merger.Take(step); });
  ValgrindResult result;
  uint64_t reads = 0;
  while (true) {
    const std::string_view text = process.Read();
    if (text.empty()) break;
    trace.Feed(text);
    if (request.max_instructions != 0 && program->instructions() > request.max_instructions) {
      ::kill(process.pid(), SIGKILL);
      while (!process.Read().empty()) {
      }
      return MakeStatus(StatusCode::kUnsupported, "%s executed more than %llu instructions",
                        request.command[0].c_str(),
                        static_cast<unsigned long long>(request.max_instructions));
    }
    if (++reads % 16 != 0) continue;
    if (is_current()) result.threads = std::max(result.threads, CountThreads(process.pid()));
    if (request.progress) request.progress(program->instructions());
  }
  trace.Finish();
  result.exit_status = process.exit_status();
  result.executed_another = process.executed_another();
  if (program->instructions() == 0) {
    const bool has_message = !trace.last_message().empty();
    return MakeStatus(StatusCode::kNotFound, "valgrind did not execute %s%s%s",
                      request.command[0].c_str(), has_message ? ": " : "",
                      trace.last_message().c_str());
  }
  return result;
}

}  // namespace hbbp::tools
