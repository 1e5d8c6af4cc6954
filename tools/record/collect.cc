#include "record/collect.h"

#include <signal.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <utility>

#include "base/files.h"
#include "format.h"
#include "preload/options.h"
#include "profile_view.h"

namespace hbbp::tools {
namespace {

namespace fs = std::filesystem;

bool IsNumber(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

StatusOr<std::vector<fs::path>> ListFiles(const std::string& directory) {
  std::vector<fs::path> paths;
  std::error_code error;
  fs::directory_iterator entry(directory, error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    paths.push_back(entry->path());
  }
  if (error) return ErrnoStatus(error.value(), directory);
  return paths;
}

// Is it what a run leaves of a child? Names alone do not tell: `-o run.2` is a run of its own.
bool IsProfileOf(const fs::path& path, std::string_view pid) {
  bool is_of_pid = false;
  const Status read = CatchError(
      [&] { is_of_pid = std::to_string(hbbp::profile::load(path.string()).info().pid) == pid; });
  return read.ok() && is_of_pid;
}

// output.1234 of an earlier run would be taken for a child of this one.
void RemoveEarlierChildren(const std::string& output) {
  const fs::path path(output);
  const std::string prefix = path.filename().string() + ".";
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  std::error_code ignored;
  const StatusOr<std::vector<fs::path>> paths = ListFiles(folder);
  if (!paths.ok()) return;
  for (const fs::path& entry : *paths) {
    const std::string name = entry.filename().string();
    if (!name.starts_with(prefix)) continue;
    const std::string_view suffix = std::string_view(name).substr(prefix.size());
    if (IsNumber(suffix) && IsProfileOf(entry, suffix)) fs::remove(entry, ignored);
  }
}

// So that a symbolic link stays one.
fs::path WithoutLinks(const fs::path& path) {
  std::error_code error;
  fs::path real = fs::canonical(path, error);
  return error ? path : real;
}

// Saving stores what is known here of the code of the kernel.
bool HasKernelSamples(const hbbp::profile& profile) {
  const std::vector<hbbp_source_info> sources = profile.sources();
  return std::any_of(sources.begin(), sources.end(), [](const hbbp_source_info& source) {
    return source.include_kernel != 0 && source.samples != 0;
  });
}

// What a program wrote after it changed its user is copied: it could change the file later.
bool IsOfThisUser(const std::string& path) {
  struct stat status;
  return ::lstat(path.c_str(), &status) == 0 && status.st_uid == ::geteuid();
}

// Puts the parts of one process at `path`.
Status Store(const ProcessParts& parts, const hbbp::profile& profile, const std::string& path) {
  if (parts.profiles.size() == 1 && !HasKernelSamples(profile) &&
      IsOfThisUser(parts.profiles[0].path)) {
    const fs::path target = WithoutLinks(path);
    if (std::rename(parts.profiles[0].path.c_str(), target.c_str()) != 0) {
      return ErrnoStatus(errno, path);
    }
    return OkStatus();
  }
  return CatchError([&] { profile.save(path); });
}

constexpr char kPartsInfix[] = ".parts-";
constexpr char kUnsavedInfix[] = ".unsaved-";

// That nobody can guess.
StatusOr<std::string> RandomName() {
  uint8_t bytes[16];
  if (TEMP_FAILURE_RETRY(::getrandom(bytes, sizeof(bytes), 0)) != sizeof(bytes)) {
    return ErrnoStatus(errno, "getrandom");
  }
  return FormatHex(bytes, sizeof(bytes));
}

// "PATH.parts-PID" of other processes that are no more.
void RemoveAbandonedParts(const fs::path& own) {
  const std::string own_name = own.filename().string();
  const std::string prefix = own_name.substr(0, own_name.rfind('-') + 1);
  std::error_code ignored;
  const StatusOr<std::vector<fs::path>> paths = ListFiles(own.parent_path());
  if (!paths.ok()) return;
  for (const fs::path& entry : *paths) {
    const std::string name = entry.filename().string();
    if (!name.starts_with(prefix) || !IsNumber(name.substr(prefix.size()))) continue;
    const pid_t pid = std::atoi(name.c_str() + prefix.size());
    if (::kill(pid, 0) == 0 || errno != ESRCH || fs::is_symlink(entry, ignored)) continue;
    fs::remove_all(entry, ignored);
  }
}

// Of "PID.TIME.suffix".
ProcessParts::Profile DescribeProfile(const fs::path& path) {
  ProcessParts::Profile profile;
  profile.path = path.string();
  profile.is_partial = path.extension() == preload::kPartialSuffix;
  const std::string time = path.stem().extension().string();
  if (time.size() > 1) {
    std::from_chars(time.data() + 1, time.data() + time.size(), profile.begin_ns);
  }
  return profile;
}

// 0 if the file cannot be read.
uint64_t DurationNs(const std::string& path) {
  uint64_t duration_ns = 0;
  (void)CatchError([&] { duration_ns = LoadProfile(path).info().duration_ns; });
  return duration_ns;
}

// An image that was killed between two steps has both kinds of profiles: the later one counts.
// When the files were written, only the wall clock would say, which may have been set meanwhile.
void AddProfile(ProcessParts::Profile profile, std::vector<ProcessParts::Profile>* profiles) {
  const auto stem = [](const std::string& path) { return fs::path(path).stem(); };
  if (profiles->empty() || stem(profiles->back().path) != stem(profile.path)) {
    profiles->push_back(std::move(profile));
  } else if (DurationNs(profiles->back().path) <= DurationNs(profile.path)) {
    profiles->back() = std::move(profile);
  }
}

}  // namespace

StatusOr<std::string> PartsFolder::PathFor(const std::string& output) {
  HBBP_RETURN_IF_ERROR(CheckNotPlanted(output));
  std::error_code error;
  const fs::path absolute = WithoutLinks(fs::absolute(output, error));
  if (error) return ErrnoStatus(error.value(), output);
  const fs::file_status status = fs::status(absolute, error);
  if (!fs::status_known(status)) return ErrnoStatus(error.value(), output);
  if (fs::is_directory(status)) return ErrnoStatus(EISDIR, output);
  if (fs::exists(status) && !fs::is_regular_file(status)) {
    return MakeStatus(StatusCode::kInvalidArgument,
                      "%s is no regular file; the profile needs a place of its own",
                      output.c_str());
  }
  HBBP_ASSIGN_OR_RETURN(const std::string name, RandomName());
  return absolute.string() + kPartsInfix + std::to_string(::getpid()) + "/" + name;
}

StatusOr<PartsFolder> PartsFolder::Create(const std::string& path) {
  PartsFolder folder(path);
  const std::string outer = folder.Outer();
  RemoveAbandonedParts(outer);
  if (::mkdir(outer.c_str(), 0700) != 0) {
    const int error_number = errno;
    folder.path_.clear();  // it is of somebody else
    return ErrnoStatus(error_number,
                       outer.substr(0, outer.rfind(kPartsInfix)) + ": cannot write beside it");
  }
  if (::mkdir(path.c_str(), 0700) != 0) return ErrnoStatus(errno, path);
  // Programs that root runs may change their user. Both modes hold whatever the umask, but some
  // file systems have no modes.
  const bool is_root = ::geteuid() == 0;
  (void)::chmod(path.c_str(), is_root ? 0733 : 0700);
  (void)::chmod(outer.c_str(), is_root ? 0711 : 0700);
  return folder;
}

std::string PartsFolder::Outer() const { return fs::path(path_).parent_path().string(); }

Status PartsFolder::TryToWrite() const {
  constexpr size_t kBytes = 4096;
  return WriteFileAtomically(path_ + "/probe", std::vector<uint8_t>(kBytes));
}

std::string PartsFolder::KeepIfAnyProfile() {
  const StatusOr<std::vector<fs::path>> paths = ListFiles(path_);
  const bool has_profile =
      !paths.ok() || std::any_of(paths->begin(), paths->end(), [](const fs::path& path) {
        return path.extension() == preload::kProfileSuffix ||
               path.extension() == preload::kPartialSuffix;
      });
  if (!has_profile) return "";
  // The next recording removes parts that are nobody's any more.
  const std::string outer = Outer();
  std::string kept = outer;
  kept.replace(outer.rfind(kPartsInfix), sizeof(kPartsInfix) - 1, kUnsavedInfix);
  std::error_code error;
  fs::rename(outer, kept, error);
  const std::string name = fs::path(std::exchange(path_, "")).filename().string();
  return "; what was recorded is in " + (error ? outer : kept) + "/" + name +
         ": hbbp merge -o FILE makes one profile of the files there";
}

PartsFolder::~PartsFolder() {
  if (path_.empty()) return;
  // What a process that outlives the root puts there meanwhile makes it not empty again.
  constexpr int kMaxTries = 100;
  std::error_code error;
  for (int i = 0; i < kMaxTries; ++i) {
    fs::remove_all(Outer(), error);
    if (!error) return;
  }
}

namespace {

StatusOr<std::map<pid_t, ProcessParts>> ListParts(const PartsFolder& folder) {
  HBBP_ASSIGN_OR_RETURN(std::vector<fs::path> paths, ListFiles(folder.path()));
  // PID.TIME.suffix, with the times padded to one length.
  std::sort(paths.begin(), paths.end());
  std::map<pid_t, ProcessParts> parts;
  for (const fs::path& path : paths) {
    std::error_code error;
    const fs::file_status status = fs::symlink_status(path, error);
    if (!fs::status_known(status)) return ErrnoStatus(error.value(), path.string());
    // A link or a pipe was put there by the program, to have this process open it.
    if (status.type() != fs::file_type::regular) continue;
    const std::string name = path.filename().string();
    pid_t pid = 0;
    std::from_chars(name.data(), name.data() + name.size(), pid);
    if (path.extension() == preload::kProfileSuffix ||
        path.extension() == preload::kPartialSuffix) {
      AddProfile(DescribeProfile(path), &parts[pid].profiles);
    } else if (path.extension() == preload::kStartingSuffix) {
      parts[pid].was_starting = true;
    } else if (path.extension() == preload::kStartedSuffix) {
      parts[pid].was_started = true;
    } else if (path.extension() == preload::kErrorSuffix) {
      constexpr uint64_t kMaxBytes = 64 * 1024;
      StatusOr<std::string> text = ReadTextFile(path.string(), kMaxBytes);
      parts[pid].errors.push_back(text.ok() ? *std::move(text) : text.status().message());
    }
  }
  return parts;
}

// Nothing where nobody would look for it: a process other than the root without samples.
StatusOr<std::optional<ProcessProfile>> StoreProcess(pid_t pid, const ProcessParts& process,
                                                     pid_t root, const std::string& output) {
  if (process.profiles.empty()) return std::optional<ProcessProfile>();
  // The last image gives its name to the whole process.
  std::vector<std::string> latest_first;
  for (auto part = process.profiles.rbegin(); part != process.profiles.rend(); ++part) {
    latest_first.push_back(part->path);
  }
  std::optional<hbbp::profile> profile;
  HBBP_RETURN_IF_ERROR(CatchError([&] { profile = LoadProfiles(latest_first); }));
  if (pid != root && profile->info().samples == 0) return std::optional<ProcessProfile>();
  const std::string path = pid == root ? output : output + "." + std::to_string(pid);
  const ProcessParts::Profile& last = process.profiles.back();
  const uint64_t partial_since_ns = last.is_partial ? last.begin_ns + DurationNs(last.path) : 0;
  HBBP_RETURN_IF_ERROR(Store(process, *profile, path));
  return std::optional(ProcessProfile{pid, path, *std::move(profile), partial_since_ns});
}

// A process that outlives the root saves meanwhile: its partial profile gives way to the last one.
StatusOr<std::optional<ProcessProfile>> StoreProcessAsItIsNow(const PartsFolder& folder, pid_t pid,
                                                              pid_t root, const std::string& output,
                                                              ProcessParts* process) {
  constexpr int kMaxTries = 10;
  for (int i = 1;; ++i) {
    StatusOr<std::optional<ProcessProfile>> stored = StoreProcess(pid, *process, root, output);
    if (stored.ok() || stored.status().code() != StatusCode::kNotFound || i == kMaxTries) {
      return stored;
    }
    HBBP_ASSIGN_OR_RETURN(auto parts, ListParts(folder));
    *process = std::move(parts[pid]);
  }
}

}  // namespace

StatusOr<std::vector<ProcessProfile>> StoreProfiles(const PartsFolder& folder, pid_t root,
                                                    const std::string& output,
                                                    std::map<pid_t, ProcessParts>* parts) {
  HBBP_ASSIGN_OR_RETURN(*parts, ListParts(folder));
  const std::string mark = folder.path() + "/storing";
  std::error_code ignored;
  if (!parts->empty() && !fs::exists(mark, ignored)) {
    RemoveEarlierChildren(output);
    (void)WriteFileAtomically(mark, {});
  }
  std::vector<ProcessProfile> stored;
  for (auto& [pid, process] : *parts) {
    HBBP_ASSIGN_OR_RETURN(std::optional<ProcessProfile> entry,
                          StoreProcessAsItIsNow(folder, pid, root, output, &process));
    if (entry) stored.insert(pid == root ? stored.begin() : stored.end(), *std::move(entry));
  }
  return stored;
}

}  // namespace hbbp::tools
