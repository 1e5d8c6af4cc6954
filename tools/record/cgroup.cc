#include "record/cgroup.h"

#include <mntent.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string_view>

namespace hbbp::tools {
namespace {

namespace fs = std::filesystem;

constexpr char kProcesses[] = "cgroup.procs";

// Returns where hierarchies are mounted, that of version 2 first.
std::vector<std::string> ListMounts() {
  std::vector<std::string> mounts;
  const std::unique_ptr<FILE, int (*)(FILE*)> table(::setmntent("/proc/self/mounts", "r"),
                                                    &::endmntent);
  if (table == nullptr) return mounts;
  while (const mntent* const mount = ::getmntent(table.get())) {
    const std::string_view type = mount->mnt_type;
    if (type == "cgroup2") mounts.insert(mounts.begin(), mount->mnt_dir);
    if (type == "cgroup") mounts.emplace_back(mount->mnt_dir);
  }
  return mounts;
}

bool IsGroup(const fs::path& directory) {
  std::error_code ignored;
  return fs::exists(directory / kProcesses, ignored);
}

// Calls `use` with each group below a directory.
template <typename Use>
void ForEachGroup(const std::string& directory, Use use) {
  std::error_code error;
  fs::recursive_directory_iterator entry(directory, fs::directory_options::skip_permission_denied,
                                         error);
  for (; !error && entry != fs::recursive_directory_iterator(); entry.increment(error)) {
    std::error_code ignored;
    if (entry->is_directory(ignored)) use(entry->path());
  }
}

std::vector<std::string> FindByLastPart(const std::string& mount, const std::string& name) {
  std::vector<std::string> found;
  ForEachGroup(mount, [&](const fs::path& group) {
    if (group.filename() == name) found.push_back(group.string());
  });
  std::sort(found.begin(), found.end());
  return found;
}

Status Ambiguous(const std::string& name, const std::vector<std::string>& found) {
  std::string all;
  for (const std::string& directory : found) all += (all.empty() ? "" : ", ") + directory;
  return MakeStatus(StatusCode::kInvalidArgument, "--cgroup: '%s' is the name of %zu groups: %s",
                    name.c_str(), found.size(), all.c_str());
}

}  // namespace

StatusOr<Cgroup> Cgroup::Find(const std::string& name) {
  const std::vector<std::string> mounts = ListMounts();
  if (mounts.empty()) {
    return MakeStatus(StatusCode::kUnsupported,
                      "--cgroup: no control groups are mounted here; give processes (--pid)");
  }
  const std::string below = name.starts_with('/') ? name : "/" + name;
  for (const std::string& mount : mounts) {
    if (name.starts_with(mount + "/") && IsGroup(name)) return Cgroup(name);
    if (IsGroup(mount + below)) return Cgroup(mount + below);
  }
  for (const std::string& mount : mounts) {
    const std::vector<std::string> found = FindByLastPart(mount, name);
    if (found.size() == 1) return Cgroup(found.front());
    if (!found.empty()) return Ambiguous(name, found);
  }
  return MakeStatus(StatusCode::kNotFound,
                    "--cgroup: there is no control group '%s' below %s; /proc/PID/cgroup shows "
                    "that of a process",
                    name.c_str(), mounts.front().c_str());
}

std::vector<pid_t> Cgroup::ListProcesses() const {
  std::vector<pid_t> pids;
  const auto add = [&pids](const fs::path& group) {
    std::ifstream file(group / kProcesses);
    // A process outside of this namespace is 0.
    for (pid_t pid = 0; file >> pid;) {
      if (pid > 0) pids.push_back(pid);
    }
  };
  add(directory_);
  ForEachGroup(directory_, add);
  std::sort(pids.begin(), pids.end());
  pids.erase(std::unique(pids.begin(), pids.end()), pids.end());
  return pids;
}

}  // namespace hbbp::tools
