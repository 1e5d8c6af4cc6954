// FindNew lists all processes, forgets those that have ended, reads the parents of those that are
// new (ReadParent), and moves those of the family to it until there are no more.
#include "record/descendants.h"

#include <dirent.h>

#include <cstdlib>
#include <memory>
#include <string>

#include "base/files.h"

namespace hbbp::tools {
namespace {

struct CloseDirectory {
  void operator()(DIR* directory) const { ::closedir(directory); }
};

std::set<pid_t> ListProcesses() {
  std::set<pid_t> pids;
  const std::unique_ptr<DIR, CloseDirectory> proc(::opendir("/proc"));
  if (proc == nullptr) return pids;
  while (const dirent* const entry = ::readdir(proc.get())) {
    const pid_t pid = std::atoi(entry->d_name);
    if (pid > 0) pids.insert(pid);
  }
  return pids;
}

// proc(5): "7 (name) R 1 ...", where the name may have parentheses and spaces. Returns 0 for a
// process that has ended.
pid_t ReadParent(pid_t pid) {
  constexpr uint64_t kMaxBytes = 4096;
  const StatusOr<std::string> stat =
      ReadTextFile("/proc/" + std::to_string(pid) + "/stat", kMaxBytes);
  if (!stat.ok()) return 0;
  constexpr size_t kFromNameToParent = 4;
  const size_t end = stat->rfind(')');
  if (end == std::string::npos || end + kFromNameToParent >= stat->size()) return 0;
  return std::atoi(stat->c_str() + end + kFromNameToParent);
}

}  // namespace

std::vector<pid_t> Descendants::FindNew() {
  const std::set<pid_t> alive = ListProcesses();
  std::erase_if(parents_, [&](const auto& process) { return !alive.contains(process.first); });
  std::set<pid_t> family;
  for (const pid_t pid : alive) {
    if (family_.contains(pid)) {
      family.insert(pid);
    } else if (!parents_.contains(pid)) {
      parents_[pid] = ReadParent(pid);
    }
  }
  std::vector<pid_t> found;
  for (size_t before = SIZE_MAX; before != found.size();) {
    before = found.size();
    for (auto process = parents_.begin(); process != parents_.end();) {
      const auto [pid, parent] = *process;
      // A parent that has just ended belongs to the family still.
      if (!family_.contains(parent) && !family.contains(parent)) {
        ++process;
        continue;
      }
      family.insert(pid);
      found.push_back(pid);
      process = parents_.erase(process);
    }
  }
  family_ = std::move(family);
  return found;
}

}  // namespace hbbp::tools
