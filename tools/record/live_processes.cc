#include "record/live_processes.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "preload/options.h"

namespace hbbp::tools {
namespace {

std::string FifoOf(const std::string& directory) { return directory + "/" + preload::kLiveFifo; }

}  // namespace

StatusOr<LiveProcesses> LiveProcesses::Create(const std::string& directory) {
  const std::string path = FifoOf(directory);
  // Programs that root runs may change their user, whatever the umask.
  constexpr mode_t kForWriters = 0622;
  if (::mkfifo(path.c_str(), 0600) != 0) return ErrnoStatus(errno, path);
  (void)::chmod(path.c_str(), kForWriters);
  return Open(directory);
}

StatusOr<LiveProcesses> LiveProcesses::Open(const std::string& directory) {
  const std::string path = FifoOf(directory);
  UniqueFd reader(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW));
  if (!reader.valid()) return ErrnoStatus(errno, path);
  return LiveProcesses(directory, std::move(reader));
}

bool LiveProcesses::IsObserved(const std::string& directory) {
  const std::string path = FifoOf(directory);
  return UniqueFd(::open(path.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW)).valid();
}

bool LiveProcesses::Read() {
  for (;;) {
    pid_t pid = 0;
    const ssize_t got = ::read(reader_.get(), &pid, sizeof(pid));
    if (got == sizeof(pid)) {
      pids_.insert(pid);
    } else if (got >= 0 || errno != EINTR) {
      return got < 0 && errno == EAGAIN;
    }
  }
}

std::vector<pid_t> LiveProcesses::AliveBut(pid_t root) const {
  std::vector<pid_t> alive;
  for (const pid_t pid : pids_) {
    const bool is_alive = ::kill(pid, 0) == 0 || errno == EPERM;
    if (pid != root && is_alive) alive.push_back(pid);
  }
  return alive;
}

std::vector<pid_t> LiveProcesses::Find(pid_t root) {
  // Taking up the profile of a child, or of a program after exec, takes some milliseconds.
  constexpr int kMaxMsWithoutWriter = 25;
  // Helpers that run-time systems start end with their programs, or just after these.
  constexpr int kMaxMs = 100;
  int without_writer_ms = 0;
  for (int ms = 0; ms < kMaxMs || without_writer_ms > 0; ++ms) {
    without_writer_ms = Read() ? 0 : without_writer_ms + 1;
    if (without_writer_ms > kMaxMsWithoutWriter) return {};
    if (without_writer_ms > 0 && !MayGetWriter(root)) return {};
    ::usleep(1000);
  }
  return AliveBut(root);
}

bool LiveProcesses::MayGetWriter(pid_t root) const {
  const std::string mark = directory_ + "/" + preload::kForkedMark;
  return ::access(mark.c_str(), F_OK) == 0 || !AliveBut(root).empty();
}

void LiveProcesses::WaitForAll(const std::vector<pid_t>& known) {
  pids_.insert(known.begin(), known.end());
  constexpr int kPatienceMs = 1000;
  int without_writer_ms = 0;
  while (without_writer_ms < kPatienceMs) {
    if (Read()) {
      // A FIFO that no process has opened since this one did never reports its end.
      constexpr int kPollMs = 1000;
      pollfd wait = {reader_.get(), POLLIN, 0};
      (void)::poll(&wait, 1, kPollMs);
      without_writer_ms = 0;
    } else if (AliveBut(0).empty()) {
      return;
    } else {
      constexpr int kStepMs = 5;
      ::usleep(kStepMs * 1000);
      without_writer_ms += kStepMs;
    }
  }
}

}  // namespace hbbp::tools
