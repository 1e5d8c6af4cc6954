#include "backends/threads.h"

#include <dirent.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <memory>
#include <string>
#include <string_view>

namespace hbbp {

StatusOr<std::vector<pid_t>> ListThreads(pid_t pid) {
  const std::string path = "/proc/" + (pid == 0 ? "self" : std::to_string(pid)) + "/task";
  std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir(path.c_str()), ::closedir);
  if (folder == nullptr) return ErrnoStatus(errno, path);
  std::vector<pid_t> threads;
  while (const dirent* entry = ::readdir(folder.get())) {
    const std::string_view name(entry->d_name);
    pid_t tid = 0;
    auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), tid);
    if (error == std::errc() && end == name.data() + name.size()) threads.push_back(tid);
  }
  std::sort(threads.begin(), threads.end());
  return threads;
}

}  // namespace hbbp
