#include "record/collect.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <utility>

#include "base/files.h"
#include "preload/options.h"

namespace hbbp::tools {
namespace {

namespace fs = std::filesystem;

bool IsNumber(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(),
                                      [](char c) { return c >= '0' && c <= '9'; });
}

bool IsProfile(const fs::path& path) {
  char magic[8] = {};
  std::ifstream(path, std::ios::binary).read(magic, sizeof(magic));
  return std::string_view(magic, sizeof(magic)) == "HBBPPROF";
}

// output.1234 of an earlier run would be taken for a child of this one.
void RemoveEarlierChildren(const std::string& output) {
  const fs::path path(output);
  const std::string prefix = path.filename().string() + ".";
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, ignored)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(prefix) && IsNumber(std::string_view(name).substr(prefix.size())) &&
        IsProfile(entry.path())) {
      fs::remove(entry.path(), ignored);
    }
  }
}

StatusOr<uint64_t> SampleCount(const hbbp_profile* profile) {
  HBBP_INIT(hbbp_profile_info, info);
  HBBP_INIT(hbbp_error, error);
  if (hbbp_profile_get_info(profile, &info, &error) != HBBP_OK) return ToStatus(error);
  return info.samples;
}

// Puts the parts of one process at `path`.
Status Store(const ProcessParts& parts, const hbbp_profile* profile, const std::string& path) {
  if (parts.profiles.size() == 1) {
    if (std::rename(parts.profiles[0].c_str(), path.c_str()) != 0) return ErrnoStatus(errno, path);
    return OkStatus();
  }
  HBBP_INIT(hbbp_error, error);
  if (hbbp_profile_save(profile, path.c_str(), &error) != HBBP_OK) return ToStatus(error);
  return OkStatus();
}

}  // namespace

StatusOr<PartsFolder> PartsFolder::Create(const std::string& output) {
  std::error_code error;
  const fs::path absolute = fs::absolute(output, error);
  if (error) return ErrnoStatus(error.value(), output);
  if (fs::is_directory(absolute, error)) return ErrnoStatus(EISDIR, output);
  const std::string path = absolute.string() + ".parts-" + std::to_string(::getpid());
  // Programs that change their user still have to write there.
  if (::mkdir(path.c_str(), 0777) != 0) {
    return ErrnoStatus(errno, output + ": cannot write beside it");
  }
  return PartsFolder(path);
}

PartsFolder::~PartsFolder() {
  std::error_code ignored;
  if (!path_.empty()) fs::remove_all(path_, ignored);
}

std::map<pid_t, ProcessParts> ListParts(const PartsFolder& folder) {
  std::vector<fs::path> paths;
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder.path(), ignored)) {
    paths.push_back(entry.path());
  }
  // PID.TIME.suffix, with the times padded to one length.
  std::sort(paths.begin(), paths.end());
  std::map<pid_t, ProcessParts> parts;
  for (const fs::path& path : paths) {
    const std::string name = path.filename().string();
    pid_t pid = 0;
    std::from_chars(name.data(), name.data() + name.size(), pid);
    if (path.extension() == preload::kProfileSuffix) {
      parts[pid].profiles.push_back(path.string());
    } else if (path.extension() == preload::kErrorSuffix) {
      StatusOr<std::string> text = ReadTextFile(path.string());
      if (text.ok()) parts[pid].errors.push_back(*std::move(text));
    }
  }
  return parts;
}

StatusOr<std::vector<ProcessProfile>> StoreProfiles(const std::map<pid_t, ProcessParts>& parts,
                                                    pid_t root, const std::string& output) {
  RemoveEarlierChildren(output);
  std::vector<ProcessProfile> stored;
  for (const auto& [pid, process] : parts) {
    if (process.profiles.empty()) continue;
    // The last image gives its name to the whole process.
    std::vector<std::string> latest_first(process.profiles.rbegin(), process.profiles.rend());
    HBBP_ASSIGN_OR_RETURN(ProfileHandle profile, LoadProfiles(latest_first));
    HBBP_ASSIGN_OR_RETURN(uint64_t samples, SampleCount(profile.get()));
    if (pid != root && samples == 0) continue;
    const std::string path = pid == root ? output : output + "." + std::to_string(pid);
    HBBP_RETURN_IF_ERROR(Store(process, profile.get(), path));
    ProcessProfile entry{pid, path, std::move(profile)};
    stored.insert(pid == root ? stored.begin() : stored.end(), std::move(entry));
  }
  return stored;
}

}  // namespace hbbp::tools
