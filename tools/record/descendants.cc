// Unless no process was born (MayHaveNew), FindNew lists all processes, forgets those that have
// ended, reads the parents of those that are new (ReadParent), and moves those of the family to it
// until there are no more.
#include "record/descendants.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/clock.h"
#include "base/files.h"

namespace hbbp::tools {
namespace {

constexpr uint64_t kMaxListingIntervalNs = 500'000'000;

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

void Descendants::AddAncestor(pid_t pid) {
  family_.insert(pid);
  next_listing_ns_ = 0;
}

// proc(5): "0.20 0.18 0.12 1/80 11206", where the last is the number of the newest thread of all.
bool Descendants::MayHaveNew() {
  if (!newest_.valid()) newest_ = UniqueFd(::open("/proc/loadavg", O_RDONLY | O_CLOEXEC));
  char text[128];
  const ssize_t length = ::pread(newest_.get(), text, sizeof(text), 0);
  const std::string_view line(text, static_cast<size_t>(std::max<ssize_t>(length, 0)));
  const std::string_view newest = line.substr(line.rfind(' ') + 1);
  const bool is_same = std::exchange(newest_process_, newest) == newest && length > 0;
  const uint64_t now_ns = ClockNs(CLOCK_MONOTONIC);
  if (is_same && now_ns < next_listing_ns_) return false;
  // The newest one may not be listed yet. In a container the file may be made by a program, which
  // is late.
  next_listing_ns_ = is_same ? now_ns + kMaxListingIntervalNs : 0;
  return true;
}

std::vector<pid_t> Descendants::FindNew() {
  if (!MayHaveNew()) return {};
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
