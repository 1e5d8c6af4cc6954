#include "record/collect.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <utility>

#include "base/files.h"
#include "preload/options.h"

namespace hbbp::tools {
namespace {

namespace fs = std::filesystem;

bool IsNumber(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// Is it what a run leaves of a child? Names alone do not tell: `-o run.2` is a run of its own.
bool IsProfileOf(const fs::path& path, std::string_view pid) {
  hbbp_profile* profile = nullptr;
  if (hbbp_profile_load(path.c_str(), &profile, nullptr) != HBBP_OK) return false;
  HBBP_INIT(hbbp_profile_info, info);
  const bool has_info = hbbp_profile_get_info(profile, &info, nullptr) == HBBP_OK;
  const bool is_of_pid = has_info && std::to_string(info.pid) == pid;
  hbbp_profile_destroy(profile);
  return is_of_pid;
}

// output.1234 of an earlier run would be taken for a child of this one.
void RemoveEarlierChildren(const std::string& output) {
  const fs::path path(output);
  const std::string prefix = path.filename().string() + ".";
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, ignored)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(prefix)) continue;
    const std::string_view suffix = std::string_view(name).substr(prefix.size());
    if (IsNumber(suffix) && IsProfileOf(entry.path(), suffix)) fs::remove(entry.path(), ignored);
  }
}

StatusOr<uint64_t> SampleCount(const hbbp_profile* profile) {
  HBBP_INIT(hbbp_profile_info, info);
  HBBP_INIT(hbbp_error, error);
  if (hbbp_profile_get_info(profile, &info, &error) != HBBP_OK) return ToStatus(error);
  return info.samples;
}

// So that a symbolic link stays one.
fs::path WithoutLinks(const fs::path& path) {
  std::error_code error;
  fs::path real = fs::canonical(path, error);
  return error ? path : real;
}

// Saving stores what is known here of the code of the kernel.
bool HasKernelSamples(const hbbp_profile* profile) {
  for (size_t i = 0; i < hbbp_profile_source_count(profile); ++i) {
    HBBP_INIT(hbbp_source_info, source);
    const hbbp_status status = hbbp_profile_source_at(profile, i, &source, nullptr);
    if (status == HBBP_OK && source.include_kernel != 0 && source.samples != 0) return true;
  }
  return false;
}

// Puts the parts of one process at `path`.
Status Store(const ProcessParts& parts, const hbbp_profile* profile, const std::string& path) {
  if (parts.profiles.size() == 1 && !HasKernelSamples(profile)) {
    const fs::path target = WithoutLinks(path);
    if (std::rename(parts.profiles[0].c_str(), target.c_str()) != 0) {
      return ErrnoStatus(errno, path);
    }
    return OkStatus();
  }
  HBBP_INIT(hbbp_error, error);
  if (hbbp_profile_save(profile, path.c_str(), &error) != HBBP_OK) return ToStatus(error);
  return OkStatus();
}

}  // namespace

StatusOr<PartsFolder> PartsFolder::Create(const std::string& output) {
  std::error_code error;
  const fs::path absolute = WithoutLinks(fs::absolute(output, error));
  if (error) return ErrnoStatus(error.value(), output);
  const fs::file_status status = fs::status(absolute, error);
  if (fs::is_directory(status)) return ErrnoStatus(EISDIR, output);
  if (fs::exists(status) && !fs::is_regular_file(status)) {
    return MakeStatus(StatusCode::kInvalidArgument,
                      "%s is no regular file; the profile needs a place of its own",
                      output.c_str());
  }
  const std::string path = absolute.string() + ".parts-" + std::to_string(::getpid());
  if (::mkdir(path.c_str(), 0700) != 0) {
    return ErrnoStatus(errno, output + ": cannot write beside it");
  }
  // Programs that change their user still have to write there, whatever the umask.
  (void)::chmod(path.c_str(), 0777);
  return PartsFolder(path);
}

Status PartsFolder::TryToWrite() const {
  constexpr size_t kBytes = 4096;
  return WriteFileAtomically(path_ + "/probe", std::vector<uint8_t>(kBytes));
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
