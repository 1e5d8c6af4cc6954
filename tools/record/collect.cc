// Collects the profiles of a recorded program. PartsDirectory makes the directory for the files
// that the processes write (parts), and removes it at the end. After the program has ended,
// StoreProfiles lists the parts by process, merges the images of each process, and stores the
// result at the output's path, with the process id as suffix for children; StoreMergedProfile adds
// the processes up, too. hbbp record calls these, and so does the keeper if hbbp record was killed.
// StoreObserved has profiles that were taken from outside, and no parts.
#include "record/collect.h"

#include <dirent.h>
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
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "base/files.h"
#include "format.h"
#include "preload/options.h"
#include "process_view.h"
#include "profile_view.h"
#include "record/unfinished_recording.h"

namespace hbbp::tools {
namespace {

namespace fs = std::filesystem;

bool IsNumber(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

struct CloseDirectory {
  void operator()(DIR* directory) const { ::closedir(directory); }
};

// Lists the files whose names begin so. Outputs may lie among a hundred thousand others, so no path
// is made for those (std::filesystem::directory_iterator does).
StatusOr<std::vector<fs::path>> ListFiles(const fs::path& directory, std::string_view prefix) {
  const std::unique_ptr<DIR, CloseDirectory> stream(::opendir(directory.c_str()));
  if (stream == nullptr) return ErrnoStatus(errno, directory.string());
  std::vector<fs::path> paths;
  for (;;) {
    errno = 0;
    const dirent* const entry = ::readdir(stream.get());
    if (entry == nullptr) break;
    const std::string_view name = entry->d_name;
    if (name.starts_with(prefix) && name != "." && name != "..") paths.push_back(directory / name);
  }
  if (errno != 0) return ErrnoStatus(errno, directory.string());
  return paths;
}

// Returns whether it is the profile of a child in a run. The name alone does not show that: `-o
// run.2` is a run of its own.
bool HasProfileOfPid(const fs::path& path, std::string_view pid) {
  bool is_of_pid = false;
  const Status read = CatchError(
      [&] { is_of_pid = std::to_string(hbbp::profile::load(path.string()).info().pid) == pid; });
  return read.ok() && is_of_pid;
}

// Removes output.1234 of an earlier run, which would be taken for a child of this one.
void RemoveEarlierChildren(const std::string& output) {
  const fs::path path(output);
  const std::string prefix = path.filename().string() + ".";
  const fs::path directory = path.has_parent_path() ? path.parent_path() : fs::path(".");
  std::error_code ignored;
  const StatusOr<std::vector<fs::path>> paths = ListFiles(directory, prefix);
  if (!paths.ok()) return;
  for (const fs::path& entry : *paths) {
    const std::string name = entry.filename().string();
    const std::string_view suffix = std::string_view(name).substr(prefix.size());
    if (IsNumber(suffix) && HasProfileOfPid(entry, suffix)) fs::remove(entry, ignored);
  }
}

// Resolves symbolic links, so that the link itself stays.
fs::path WithoutLinks(const fs::path& path) {
  std::error_code error;
  fs::path real = fs::canonical(path, error);
  return error ? path : real;
}

// Saving then stores what is known here of the kernel's code.
bool HasKernelSamples(const hbbp::profile& profile) {
  const std::vector<hbbp_source_info> sources = profile.sources();
  return std::any_of(sources.begin(), sources.end(), [](const hbbp_source_info& source) {
    return source.include_kernel != 0 && source.samples != 0;
  });
}

// The profile of a program that changed its user is copied: the program could change the file
// later.
bool IsOfThisUser(const std::string& path) {
  struct stat status;
  return ::lstat(path.c_str(), &status) == 0 && status.st_uid == ::geteuid();
}

void RemoveParts(const ProcessParts& parts) {
  std::error_code ignored;
  for (const ProcessParts::Profile& part : parts.profiles) fs::remove(part.path, ignored);
}

// Stores the merged parts of one process at `path`.
Status Store(const ProcessParts& parts, const hbbp::profile& profile, bool is_running,
             const std::string& path) {
  if (parts.profiles.size() == 1 && !is_running && !HasKernelSamples(profile) &&
      IsOfThisUser(parts.profiles[0].path)) {
    const fs::path target = WithoutLinks(path);
    if (std::rename(parts.profiles[0].path.c_str(), target.c_str()) != 0) {
      return ErrnoStatus(errno, path);
    }
    return OkStatus();
  }
  HBBP_RETURN_IF_ERROR(CatchError([&] { profile.save(path); }));
  if (!is_running) RemoveParts(parts);
  return OkStatus();
}

// The name cannot be guessed.
StatusOr<std::string> RandomName() {
  uint8_t bytes[16];
  if (TEMP_FAILURE_RETRY(::getrandom(bytes, sizeof(bytes), 0)) != sizeof(bytes)) {
    return ErrnoStatus(errno, "getrandom");
  }
  return FormatHex(bytes, sizeof(bytes));
}

// Removes "PATH.parts-PID" of other processes that no longer exist.
void RemoveAbandonedParts(const fs::path& own) {
  const std::string own_name = own.filename().string();
  const std::string prefix = own_name.substr(0, own_name.rfind('-') + 1);
  std::error_code ignored;
  const StatusOr<std::vector<fs::path>> paths = ListFiles(own.parent_path(), prefix);
  if (!paths.ok()) return;
  for (const fs::path& entry : *paths) {
    const std::string name = entry.filename().string();
    if (!IsNumber(name.substr(prefix.size()))) continue;
    const pid_t pid = std::atoi(name.c_str() + prefix.size());
    if (::kill(pid, 0) == 0 || errno != ESRCH || fs::is_symlink(entry, ignored)) continue;
    if (HasKeeper(entry.string())) continue;
    fs::remove_all(entry, ignored);
  }
}

// Parses "PID.TIME.suffix".
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

// Returns 0 if the file cannot be read.
uint64_t DurationNs(const std::string& path) {
  uint64_t duration_ns = 0;
  (void)CatchError([&] { duration_ns = LoadProfile(path).info().duration_ns; });
  return duration_ns;
}

// An image that was killed between two steps has both kinds of profiles: the later one counts. The
// times of the files would be from the wall clock, which may have been set meanwhile.
void AddProfile(ProcessParts::Profile profile, std::vector<ProcessParts::Profile>* profiles) {
  const auto stem = [](const std::string& path) { return fs::path(path).stem(); };
  if (profiles->empty() || stem(profiles->back().path) != stem(profile.path)) {
    profiles->push_back(std::move(profile));
  } else if (DurationNs(profiles->back().path) <= DurationNs(profile.path)) {
    profiles->back() = std::move(profile);
  }
}

}  // namespace

StatusOr<std::string> PartsDirectory::PathFor(const std::string& output) {
  HBBP_RETURN_IF_ERROR(CheckNotPlanted(output));
  std::error_code error;
  const fs::path absolute = WithoutLinks(fs::absolute(output, error));
  if (error) return ErrnoStatus(error.value(), output);
  const fs::file_status status = fs::status(absolute, error);
  if (!fs::status_known(status)) return ErrnoStatus(error.value(), output);
  if (fs::is_directory(status)) return ErrnoStatus(EISDIR, output);
  if (fs::exists(status) && !fs::is_regular_file(status)) {
    return MakeStatus(StatusCode::kInvalidArgument,
                      "%s is not a regular file; the profile needs a file of its own",
                      output.c_str());
  }
  HBBP_ASSIGN_OR_RETURN(const std::string name, RandomName());
  return absolute.string() + kPartsInfix + std::to_string(::getpid()) + "/" + name;
}

StatusOr<PartsDirectory> PartsDirectory::Create(const std::string& path) {
  PartsDirectory directory(path);
  const std::string outer = directory.Outer();
  RemoveAbandonedParts(outer);
  if (::mkdir(outer.c_str(), 0700) != 0) {
    const int error_number = errno;
    directory.path_.clear();  // it belongs to somebody else
    return ErrnoStatus(error_number,
                       outer.substr(0, outer.rfind(kPartsInfix)) + ": cannot write next to it");
  }
  if (::mkdir(path.c_str(), 0700) != 0) return ErrnoStatus(errno, path);
  // Programs that root runs may change their user. Both modes hold whatever the umask, but some
  // file systems have no modes.
  const bool is_root = ::geteuid() == 0;
  (void)::chmod(path.c_str(), is_root ? 0733 : 0700);
  (void)::chmod(outer.c_str(), is_root ? 0711 : 0700);
  return directory;
}

std::string PartsDirectory::Outer() const { return fs::path(path_).parent_path().string(); }

Status PartsDirectory::TryToWrite() const {
  constexpr size_t kBytes = 4096;
  constexpr mode_t kForOneUser = 0600;
  return WriteFileAtomically(path_ + "/" + preload::kProbeFile, std::vector<uint8_t>(kBytes),
                             kForOneUser);
}

std::string PartsDirectory::KeepIfAnyProfile() {
  if (!MayHaveProfiles(path_)) return "";
  // The next recording removes parts without owner.
  const std::string outer = Outer();
  std::string kept = outer;
  kept.replace(outer.rfind(kPartsInfix), sizeof(kPartsInfix) - 1, kUnsavedInfix);
  std::error_code error;
  fs::rename(outer, kept, error);
  const std::string name = fs::path(std::exchange(path_, "")).filename().string();
  return AdviceToMerge((error ? outer : kept) + "/" + name);
}

PartsDirectory::~PartsDirectory() {
  if (path_.empty()) return;
  // A process that outlives the root may write there meanwhile, so that it is not empty again.
  constexpr int kMaxTries = 100;
  std::error_code error;
  for (int i = 0; i < kMaxTries; ++i) {
    fs::remove_all(Outer(), error);
    if (!error) return;
  }
}

namespace {

StatusOr<std::map<pid_t, ProcessParts>> ListParts(const PartsDirectory& directory) {
  HBBP_ASSIGN_OR_RETURN(std::vector<fs::path> paths, ListFiles(directory.path(), ""));
  // Names are PID.TIME.suffix, with the times padded to one length.
  std::sort(paths.begin(), paths.end());
  std::map<pid_t, ProcessParts> parts;
  for (const fs::path& path : paths) {
    std::error_code error;
    const fs::file_status status = fs::symlink_status(path, error);
    if (!fs::status_known(status)) return ErrnoStatus(error.value(), path.string());
    // The program may have made a link or a pipe there, for this process to open it.
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

struct LoadedProcess {
  hbbp::profile profile;
  uint64_t saved_ns = 0;
  bool is_partial = false;
};

// `process` has profiles.
StatusOr<LoadedProcess> LoadProcess(const ProcessParts& process) {
  // The last image gives its name to the whole process.
  std::vector<std::string> latest_first;
  for (auto part = process.profiles.rbegin(); part != process.profiles.rend(); ++part) {
    latest_first.push_back(part->path);
  }
  std::optional<hbbp::profile> profile;
  HBBP_RETURN_IF_ERROR(CatchError([&] { profile = LoadParts(latest_first); }));
  const ProcessParts::Profile& last = process.profiles.back();
  return LoadedProcess{*std::move(profile), last.begin_ns + DurationNs(last.path), last.is_partial};
}

std::string PathOfChild(const std::string& output, pid_t pid) {
  return output + "." + std::to_string(pid);
}

// Returns nothing for a process other than the root without samples, since no one would look for
// its profile.
StatusOr<std::optional<ProcessProfile>> StoreProcess(pid_t pid, const ProcessParts& process,
                                                     pid_t root, bool is_running,
                                                     const std::string& output) {
  if (process.profiles.empty()) return std::optional<ProcessProfile>();
  HBBP_ASSIGN_OR_RETURN(LoadedProcess loaded, LoadProcess(process));
  const bool has_samples = loaded.profile.info().samples != 0;
  if (pid != root && !has_samples) return std::optional<ProcessProfile>();
  const std::string path = pid == root ? output : PathOfChild(output, pid);
  HBBP_RETURN_IF_ERROR(Store(process, loaded.profile, is_running, path));
  return std::optional(ProcessProfile{pid, path, std::move(loaded.profile), loaded.saved_ns,
                                      loaded.is_partial, is_running, !process.errors.empty()});
}

// Calls `use`, which returns a StatusOr, with the parts of a process, and again if one is gone: a
// process that outlives the root saves meanwhile, and its last profile replaces the partial one.
template <typename Use>
auto UseAsItIsNow(const PartsDirectory& directory, pid_t pid, ProcessParts* process, Use use)
    -> decltype(use(*process)) {
  constexpr int kMaxTries = 10;
  for (int i = 1;; ++i) {
    auto result = use(*process);
    if (result.ok() || result.status().code() != StatusCode::kNotFound || i == kMaxTries) {
      return result;
    }
    HBBP_ASSIGN_OR_RETURN(auto parts, ListParts(directory));
    *process = std::move(parts[pid]);
  }
}

// If there is a profile of an earlier run at the path of the output, renames it to output.old, as
// perf record does. What is not a profile stays, and is replaced.
void KeepEarlierProfile(const std::string& output) {
  std::error_code error;
  const bool is_file = fs::is_regular_file(fs::symlink_status(output, error));
  const bool is_profile = is_file && CatchError([&] { (void)hbbp::profile::load(output); }).ok();
  if (is_profile) fs::rename(output, output + ".old", error);
}

// Lists the parts, and makes room for the profiles once for each run.
Status PrepareToStore(const PartsDirectory& directory, const std::string& output,
                      std::map<pid_t, ProcessParts>* parts) {
  HBBP_ASSIGN_OR_RETURN(*parts, ListParts(directory));
  const std::string mark = directory.path() + "/storing";
  std::error_code ignored;
  if (parts->empty() || fs::exists(mark, ignored)) return OkStatus();
  RemoveEarlierChildren(output);
  KeepEarlierProfile(output);
  const std::string probe = directory.path() + "/" + preload::kProbeFile;
  if (std::rename(probe.c_str(), mark.c_str()) != 0) (void)WriteFileAtomically(mark, {});
  return OkStatus();
}

// Moves the files of a process that cannot be read to `path`, or to path.N if there are several.
Status MoveUnreadable(const ProcessParts& process, const std::string& path) {
  for (size_t i = 0; i < process.profiles.size(); ++i) {
    const std::string target = WithoutLinks(i == 0 ? path : path + "." + std::to_string(i + 1));
    if (std::rename(process.profiles[i].path.c_str(), target.c_str()) != 0) {
      return ErrnoStatus(errno, target);
    }
  }
  return OkStatus();
}

std::string NotMerged(const std::string& title, const std::string& output, const std::string& path,
                      const Status& why) {
  return title + " is not in " + output + " but in " + path + ": " + why.message();
}

Status SaveSum(const std::vector<ProcessProfile>& processes, const std::string& output,
               RunProfiles* run) {
  std::vector<const hbbp::profile*> summands;
  for (const ProcessProfile& process : processes) summands.push_back(&process.profile);
  return CatchError([&] {
    hbbp::profile sum = hbbp::profile::merge(summands);
    sum.save(output);
    run->merged = std::move(sum);
  });
}

}  // namespace

StatusOr<RunProfiles> StoreProfiles(const PartsDirectory& directory, pid_t root,
                                    const std::string& output, const std::set<pid_t>& running,
                                    std::map<pid_t, ProcessParts>* parts) {
  HBBP_RETURN_IF_ERROR(PrepareToStore(directory, output, parts));
  RunProfiles run;
  std::vector<ProcessProfile>& stored = run.processes;
  for (auto& [number, process] : *parts) {
    const pid_t pid = number;
    const auto store = [&](const ProcessParts& now) {
      return StoreProcess(pid, now, root, running.contains(pid), output);
    };
    HBBP_ASSIGN_OR_RETURN(std::optional<ProcessProfile> entry,
                          UseAsItIsNow(directory, pid, &process, store));
    if (entry) stored.insert(pid == root ? stored.begin() : stored.end(), *std::move(entry));
  }
  return run;
}

StatusOr<RunProfiles> StoreMergedProfile(const PartsDirectory& directory, pid_t root,
                                         const std::string& output, const std::set<pid_t>& running,
                                         std::map<pid_t, ProcessParts>* parts) {
  HBBP_RETURN_IF_ERROR(PrepareToStore(directory, output, parts));
  std::vector<pid_t> order;
  for (const auto& [pid, process] : *parts) {
    if (process.profiles.empty() || running.contains(pid)) continue;
    order.insert(pid == root ? order.begin() : order.end(), pid);
  }
  RunProfiles run;
  CommonUnits units;
  for (const pid_t pid : order) {
    ProcessParts& process = (*parts)[pid];
    const std::string child_path = PathOfChild(output, pid);
    StatusOr<LoadedProcess> loaded = UseAsItIsNow(directory, pid, &process, LoadProcess);
    const auto number = static_cast<uint32_t>(pid);
    const std::string title =
        "process " + (loaded.ok() ? FindTitle(number, loaded->profile) : std::to_string(pid));
    Status status = loaded.ok() ? units.Add(title, loaded->profile) : loaded.status();
    if (status.ok()) {
      run.processes.push_back({pid, output, std::move(loaded->profile), loaded->saved_ns,
                               loaded->is_partial, false, !process.errors.empty()});
      continue;
    }
    HBBP_RETURN_IF_ERROR(loaded.ok() ? Store(process, loaded->profile, false, child_path)
                                     : MoveUnreadable(process, child_path));
    run.kept_apart.push_back(NotMerged(title, output, child_path, status));
  }
  if (run.processes.empty()) return run;
  HBBP_RETURN_IF_ERROR(SaveSum(run.processes, output, &run));
  // They would be stored again with those of the processes that still run.
  for (const ProcessProfile& process : run.processes) {
    if (!running.empty()) RemoveParts((*parts)[process.pid]);
  }
  return run;
}

StatusOr<RunProfiles> StoreObserved(std::vector<ProcessProfile> processes,
                                    const std::string& output, bool merge) {
  RemoveEarlierChildren(output);
  KeepEarlierProfile(output);
  RunProfiles run;
  CommonUnits units;
  for (ProcessProfile& process : processes) {
    const bool is_root = run.processes.empty();
    process.path = is_root || merge ? output : PathOfChild(output, process.pid);
    if (merge) {
      const std::string title =
          "process " + FindTitle(static_cast<uint32_t>(process.pid), process.profile);
      const Status status = units.Add(title, process.profile);
      if (!status.ok()) {
        const std::string apart = PathOfChild(output, process.pid);
        HBBP_RETURN_IF_ERROR(CatchError([&] { process.profile.save(apart); }));
        run.kept_apart.push_back(NotMerged(title, output, apart, status));
        continue;
      }
    } else {
      HBBP_RETURN_IF_ERROR(CatchError([&] { process.profile.save(process.path); }));
    }
    run.processes.push_back(std::move(process));
  }
  if (merge && !run.processes.empty()) HBBP_RETURN_IF_ERROR(SaveSum(run.processes, output, &run));
  return run;
}

}  // namespace hbbp::tools
