#include "record/unfinished_recording.h"

#include <signal.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "preload/options.h"
#include "record/live_processes.h"

namespace hbbp::tools {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> List(const fs::path& directory, std::error_code* error) {
  std::vector<fs::path> paths;
  for (fs::directory_iterator entry(directory, *error), end; !*error && entry != end;
       entry.increment(*error)) {
    paths.push_back(entry->path());
  }
  return paths;
}

bool Exists(pid_t pid) { return ::kill(pid, 0) == 0 || errno != ESRCH; }

// Returns 0 if the name does not begin so or does not end with an id.
pid_t PidAfter(const std::string& name, const std::string& prefix) {
  pid_t pid = 0;
  if (!name.starts_with(prefix)) return 0;
  const char* const end = name.data() + name.size();
  const std::from_chars_result parsed = std::from_chars(name.data() + prefix.size(), end, pid);
  return parsed.ec == std::errc() && parsed.ptr == end ? pid : 0;
}

struct Parts {
  fs::path path;
  pid_t pid;  // that is in its name
};

std::vector<Parts> ListParts(const std::string& output, const std::string& infix) {
  const fs::path path(output);
  const std::string prefix = path.filename().string() + infix;
  std::vector<Parts> all;
  std::error_code ignored;
  for (fs::path& entry :
       List(path.has_parent_path() ? path.parent_path() : fs::path("."), &ignored)) {
    const pid_t pid = PidAfter(entry.filename().string(), prefix);
    if (pid != 0) all.push_back({std::move(entry), pid});
  }
  return all;
}

}  // namespace

bool MayHaveProfiles(const std::string& directory) {
  std::error_code error;
  for (const fs::path& path : List(directory, &error)) {
    if (path.extension() == preload::kProfileSuffix || path.extension() == preload::kPartialSuffix)
      return true;
  }
  return static_cast<bool>(error);
}

bool HasKeeper(const std::string& parts) {
  std::error_code ignored;
  const std::vector<fs::path> directories = List(parts, &ignored);
  return std::any_of(directories.begin(), directories.end(), [](const fs::path& directory) {
    return LiveProcesses::IsObserved(directory.string());
  });
}

bool IsReplaced(const std::string& output, const std::string& parts) {
  std::error_code error;
  const fs::file_time_type began = fs::last_write_time(parts, error);
  if (error) return false;
  const fs::file_time_type written = fs::last_write_time(output, error);
  if (!error && written > began) return true;
  const std::vector<Parts> all = ListParts(output, kPartsInfix);
  return std::any_of(all.begin(), all.end(), [&parts](const Parts& other) {
    return Exists(other.pid) && other.path.filename() != fs::path(parts).filename();
  });
}

std::string AdviceToMerge(const std::string& directory) {
  return "; what was recorded is in " + directory +
         ": hbbp merge -o FILE makes one profile of the files there";
}

std::string DescribeUnfinishedRecording(const std::string& output) {
  std::vector<Parts> all = ListParts(output, kPartsInfix);
  for (const Parts& parts : all) {
    if (Exists(parts.pid)) {
      return "; hbbp record, process " + std::to_string(parts.pid) + ", writes it when it ends";
    }
    if (HasKeeper(parts.path.string())) {
      return "; hbbp record was killed, and its process hbbp-keeper writes it when the program "
             "ends";
    }
  }
  for (Parts& parts : ListParts(output, kUnsavedInfix)) all.push_back(std::move(parts));
  for (const Parts& parts : all) {
    std::error_code ignored;
    for (const fs::path& directory : List(parts.path, &ignored)) {
      if (MayHaveProfiles(directory.string())) return AdviceToMerge(directory.string());
    }
  }
  return "";
}

}  // namespace hbbp::tools
