#include "record/keeper.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

namespace hbbp::tools {
namespace {

constexpr pid_t kDismissed = -1;
constexpr pid_t kGoOn = -2;

// Returns false at the end of file, which means that the writer was killed.
bool Receive(const UniqueFd& reader, pid_t* pid) {
  ssize_t got;
  do {
    got = ::read(reader.get(), pid, sizeof(*pid));
  } while (got < 0 && errno == EINTR);
  return got == sizeof(*pid);
}

void WaitForEnd(const UniqueFd& process) {
  pollfd wait = {process.get(), POLLIN, 0};
  while (::poll(&wait, 1, -1) < 0 && errno == EINTR) {
  }
}

// Whoever reads what the command prints must not wait for this process.
void DropStandardFiles() {
  const UniqueFd nothing(::open("/dev/null", O_RDWR | O_CLOEXEC));
  for (const int file : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::dup2(nothing.get(), file);
  ::setsid();
}

void WaitForByteOrEnd(const UniqueFd& reader) {
  char unused;
  while (::read(reader.get(), &unused, 1) < 0 && errno == EINTR) {
  }
}

[[noreturn]] void Keep(const UniqueFd& reader, const UniqueFd& life_writer,
                       const Keeper::Tasks& tasks) {
  ::prctl(PR_SET_NAME, "hbbp-keeper");
  // This process ends by itself, and its notes must not stop it when a shell has the terminal.
  for (const int number : {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGPIPE, SIGTTOU}) {
    ::signal(number, SIG_IGN);
  }
  pid_t program = 0, message = 0;
  UniqueFd process;
  while (Receive(reader, &message)) {
    if (message == kDismissed) ::_exit(0);
    if (message == kGoOn) {
      DropStandardFiles();
      std::vector<pid_t> running;
      while (Receive(reader, &message)) running.push_back(message);
      tasks.go_on(program, running, [&life_writer] { (void)!::write(life_writer.get(), "", 1); });
      ::_exit(0);
    }
    program = message;
    tasks.begin();
    // Until the process that sent the id has waited for it, the id belongs to the program.
    process = UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, program, 0)));
  }
  if (process.valid()) WaitForEnd(process);
  tasks.finish(program);
  ::_exit(0);
}

// Runs `keep` in a grandchild, so that the program is the only child of the starting process, and
// in a process group of its own, since whoever kills a command kills its group.
// Returns the child, which shares the memory of the starting process and suspends it until it has
// ended: only the grandchild has a copy, and may change it.
[[gnu::noinline]] pid_t StartGrandchild(const std::function<void()>& keep) {
  const pid_t pid = ::vfork();
  if (pid != 0) return pid;
  const pid_t keeper = ::fork();
  if (keeper == 0) keep();
  if (keeper < 0) ::_exit(errno);
  (void)::setpgid(keeper, keeper);
  ::_exit(0);
}

}  // namespace

StatusOr<Keeper> Keeper::Start(const Tasks& tasks) {
  int ends[2], life_ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return ErrnoStatus(errno, "pipe");
  UniqueFd reader(ends[0]), writer(ends[1]);
  if (::pipe2(life_ends, O_CLOEXEC) != 0) return ErrnoStatus(errno, "pipe");
  UniqueFd life_reader(life_ends[0]), life_writer(life_ends[1]);
  const pid_t pid = StartGrandchild([&] {
    writer.Reset();
    life_reader.Reset();
    Keep(reader, life_writer, tasks);
  });
  if (pid < 0) return ErrnoStatus(errno, "fork");
  int wait_status = 0;
  while (::waitpid(pid, &wait_status, 0) < 0 && errno == EINTR) {
  }
  if (wait_status != 0) return ErrnoStatus(WEXITSTATUS(wait_status), "fork");
  return Keeper(std::move(writer), std::move(life_reader));
}

Keeper::~Keeper() {
  if (!writer_.valid()) return;
  (void)!::write(writer_.get(), &kDismissed, sizeof(kDismissed));
  writer_.Reset();
  WaitForByteOrEnd(life_reader_);
}

void Keeper::HandOver(const std::vector<pid_t>& running) {
  (void)!::write(writer_.get(), &kGoOn, sizeof(kGoOn));
  for (const pid_t pid : running) (void)!::write(writer_.get(), &pid, sizeof(pid));
  writer_.Reset();
  WaitForByteOrEnd(life_reader_);
}

void Keeper::Watch(pid_t program) { (void)!::write(writer_.get(), &program, sizeof(program)); }

}  // namespace hbbp::tools
