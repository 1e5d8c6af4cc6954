#include "record/unfinished_recording.h"

#include <signal.h>

#include <cerrno>
#include <charconv>
#include <filesystem>
#include <system_error>
#include <vector>

#include "preload/options.h"

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

}  // namespace

bool MayHaveProfiles(const std::string& directory) {
  std::error_code error;
  for (const fs::path& path : List(directory, &error)) {
    if (path.extension() == preload::kProfileSuffix || path.extension() == preload::kPartialSuffix)
      return true;
  }
  return static_cast<bool>(error);
}

std::string AdviceToMerge(const std::string& directory) {
  return "; what was recorded is in " + directory +
         ": hbbp merge -o FILE makes one profile of the files there";
}

std::string DescribeUnfinishedRecording(const std::string& output) {
  const fs::path path(output);
  const std::string name = path.filename().string();
  std::error_code ignored;
  for (const fs::path& entry :
       List(path.has_parent_path() ? path.parent_path() : fs::path("."), &ignored)) {
    const std::string candidate = entry.filename().string();
    const pid_t recorder = PidAfter(candidate, name + kPartsInfix);
    if (recorder != 0 && Exists(recorder)) {
      return "; hbbp record, process " + std::to_string(recorder) + ", writes it when it ends";
    }
    if (recorder == 0 && PidAfter(candidate, name + kUnsavedInfix) == 0) continue;
    for (const fs::path& directory : List(entry, &ignored)) {
      if (MayHaveProfiles(directory.string())) return AdviceToMerge(directory.string());
    }
  }
  return "";
}

}  // namespace hbbp::tools
