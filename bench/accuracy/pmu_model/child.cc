#include "pmu_model/child.h"

#include <signal.h>
#include <sys/personality.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace hbbp::simulation {
namespace {

constexpr int kNotStarted = 127;

}  // namespace

StatusOr<Child> Child::Start(const std::vector<std::string>& command,
                             const std::function<void()>& prepare) {
  std::vector<char*> words;
  words.reserve(command.size() + 1);
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  const pid_t pid = ::fork();
  if (pid < 0) return ErrnoStatus(errno, "fork");
  if (pid == 0) {
    ::personality(ADDR_NO_RANDOMIZE);
    prepare();
    ::execvp(words[0], words.data());
    ::_exit(kNotStarted);
  }
  return Child(pid);
}

Child::Child(Child&& other) noexcept : pid_(std::exchange(other.pid_, -1)) {}

Child::~Child() {
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  int status;
  while (::waitpid(pid_, &status, 0) > 0 && !WIFEXITED(status) && !WIFSIGNALED(status)) {
  }
}

StatusOr<int> Child::Wait() {
  int status;
  while (::waitpid(pid_, &status, 0) < 0) {
    if (errno != EINTR) return ErrnoStatus(errno, "waitpid");
  }
  if (WIFEXITED(status) || WIFSIGNALED(status)) pid_ = -1;
  return status;
}

}  // namespace hbbp::simulation
