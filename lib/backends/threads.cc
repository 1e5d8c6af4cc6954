#include "backends/threads.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <string>
#include <string_view>

#include "base/directory.h"
#include "base/own_status.h"
#include "base/unique_fd.h"

namespace hbbp {
namespace {

Status CannotList(int error_number, const std::string& directory, pid_t pid) {
  if (error_number != ENOENT) return ErrnoStatus(error_number, directory);
  if (::access("/proc/self", F_OK) == 0) {
    return MakeStatus(StatusCode::kNotFound, "there is no process %d, or /proc does not show it",
                      pid);
  }
  return MakeStatus(StatusCode::kUnsupported,
                    "%s: /proc is not mounted here, which shows what a process has: mount it, in a "
                    "chroot too",
                    directory.c_str());
}

}  // namespace

StatusOr<std::vector<pid_t>> ListThreads(pid_t pid) {
  const std::string path = "/proc/" + (pid == 0 ? "self" : std::to_string(pid)) + "/task";
  const UniqueFd directory(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory.valid()) return CannotList(errno, path, pid);
  std::vector<pid_t> threads;
  const int error_number = ForEachName(directory.get(), [&threads](std::string_view name) {
    uint64_t tid = 0;
    auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), tid);
    if (error == std::errc() && end == name.data() + name.size())
      threads.push_back(static_cast<pid_t>(tid));
    return true;
  });
  if (error_number != 0) return ErrnoStatus(error_number, path);
  std::sort(threads.begin(), threads.end());
  if (pid != 0 || std::binary_search(threads.begin(), threads.end(), ::gettid())) return threads;
  for (pid_t& tid : threads) tid = OwnTid(tid);
  std::sort(threads.begin(), threads.end());
  return threads;
}

StatusOr<std::vector<pid_t>> ListThreadsAmong(const std::vector<pid_t>& only, pid_t pid) {
  HBBP_ASSIGN_OR_RETURN(std::vector<pid_t> threads, ListThreads(pid));
  if (!only.empty()) {
    std::erase_if(
        threads, [&only](pid_t tid) { return !std::binary_search(only.begin(), only.end(), tid); });
  }
  return threads;
}

Status CheckThreads(const std::vector<pid_t>& threads, pid_t pid) {
  if (threads.empty()) return OkStatus();
  HBBP_ASSIGN_OR_RETURN(const std::vector<pid_t> alive, ListThreads(pid));
  for (const pid_t tid : threads) {
    if (std::binary_search(alive.begin(), alive.end(), tid)) continue;
    return MakeStatus(StatusCode::kNotFound, "the process has no thread %d", tid);
  }
  return OkStatus();
}

}  // namespace hbbp
