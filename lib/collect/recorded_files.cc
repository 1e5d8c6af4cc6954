// Find passes over the modules of a profile. FindByBuildId searches the trees below the root
// (FindBelowRoot), the list of all its files, which ReadRoot makes once, and perf's cache;
// FindByName serves modules without a build ID. The importers of recordings and of text call Find.
#include "collect/recorded_files.h"

#include <elf.h>
#include <fcntl.h>
#include <fts.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <set>

#include "base/files.h"
#include "base/unique_fd.h"
#include "collect/memory_note.h"
#include "image/build_id.h"

namespace hbbp {
namespace {

constexpr size_t kMaxNamed = 8;  // in a note
constexpr size_t kKeyBytes = 4;

std::string KeyOf(std::span<const uint8_t> build_id) {
  return BuildIdText(build_id.first(std::min(build_id.size(), kKeyBytes)));
}

std::vector<uint8_t> BuildIdAt(const std::string& path) {
  const UniqueFd fd = OpenRegularFile(path);
  return fd.valid() ? ReadBuildIdOfFd(fd.get()) : std::vector<uint8_t>();
}

template <typename Header>
bool ReadHeader(int fd, uint64_t position, Header* header) {
  return ::pread(fd, header, sizeof(*header), static_cast<off_t>(position)) == sizeof(*header);
}

// Returns whether a file with a build ID, which is an image for x86-64, has code. A debug file has
// the headers of sections of code, but not their bytes.
bool HasCode(const std::string& path) {
  const UniqueFd fd = OpenRegularFile(path);
  Elf64_Ehdr file;
  if (!fd.valid() || !ReadHeader(fd.get(), 0, &file)) return false;
  if (file.e_shoff == 0) return true;
  if (file.e_shentsize != sizeof(Elf64_Shdr)) return false;
  Elf64_Shdr section;
  if (!ReadHeader(fd.get(), file.e_shoff, &section)) return false;
  const uint64_t sections = file.e_shnum != 0 ? file.e_shnum : section.sh_size;
  constexpr uint64_t kCode = SHF_ALLOC | SHF_EXECINSTR;
  for (uint64_t i = 0; i < sections; ++i) {
    if (!ReadHeader(fd.get(), file.e_shoff + i * sizeof(section), &section)) return false;
    if ((section.sh_flags & kCode) == kCode && section.sh_type != SHT_NOBITS) return true;
  }
  return false;
}

// Returns the paths at which tools store files by build ID: perf buildid-cache (a directory with
// the file `elf`), distributions and debugedit (a link, and its debug file), debuginfod clients.
std::vector<std::string> PathsInTrees(const std::string& root, const std::string& id) {
  std::vector<std::string> paths;
  for (const char* tree :
       {"/.build-id/", "/usr/lib/debug/.build-id/", "/usr/lib/.build-id/", "/.debug/.build-id/"}) {
    const std::string file = root + tree + id.substr(0, 2) + "/" + id.substr(2);
    for (const char* end : {"", "/elf", ".debug"}) paths.push_back(file + end);
  }
  paths.push_back(root + "/" + id + "/executable");
  return paths;
}

// Returns the paths in a cache of perf.
std::vector<std::string> PathsInCache(const std::string& cache, const std::string& id) {
  const std::string file = cache + "/.build-id/" + id.substr(0, 2) + "/" + id.substr(2);
  return {file + "/elf", file};
}

struct CloseFts {
  void operator()(FTS* files) const { ::fts_close(files); }
};

int CompareNames(const FTSENT** a, const FTSENT** b) {
  return std::strcmp((*a)->fts_name, (*b)->fts_name);
}

}  // namespace

RecordedFileState FindRecordedFileState(const ModuleRecord& module) {
  const UniqueFd fd = OpenRegularFile(LocalPath(module));
  if (!fd.valid()) return RecordedFileState::kMissing;
  const bool is_it =
      module.build_id.empty() || SameBuildId(ReadBuildIdOfFd(fd.get()), module.build_id);
  return is_it ? RecordedFileState::kFound : RecordedFileState::kOther;
}

std::optional<RecordedFiles::Found> RecordedFiles::FirstWithCode(
    const std::vector<std::string>& paths, std::span<const uint8_t> build_id) {
  for (const std::string& path : paths) {
    std::vector<uint8_t> id = BuildIdAt(path);
    if (id.empty() || !SameBuildId(id, build_id)) continue;
    if (HasCode(path)) return Found{path, std::move(id)};
    debug_only_ = path;
  }
  return std::nullopt;
}

void RecordedFiles::ReadRoot(CancelCheck* check) {
  was_read_ = true;
  std::string root = options_.root;
  char* const roots[] = {root.data(), nullptr};
  // Links are not followed, and neither are mounts: /proc has no files of interest.
  const std::unique_ptr<FTS, CloseFts> files(
      ::fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR | FTS_XDEV | FTS_COMFOLLOW, &CompareNames));
  if (files == nullptr) return;
  size_t seen = 0;
  while (const FTSENT* entry = ::fts_read(files.get())) {
    if (check != nullptr) check->Step();
    if (++seen > max_files_) {
      is_cut_ = true;
      break;
    }
    if (entry->fts_info != FTS_F) continue;
    const std::vector<uint8_t> id = BuildIdAt(entry->fts_path);
    if (!id.empty()) paths_[KeyOf(id)].push_back(entry->fts_path);
  }
}

std::optional<RecordedFiles::Found> RecordedFiles::FindByBuildId(std::span<const uint8_t> build_id,
                                                                 CancelCheck* check) {
  debug_only_.clear();
  // The first byte names a directory, so a build ID of one byte is not searched.
  if (build_id.size() < 2) return std::nullopt;
  if (!options_.root.empty()) {
    std::optional<Found> found = FindBelowRoot(build_id, check);
    if (found) return found;
  }
  if (options_.perf_cache.empty()) return std::nullopt;
  for (const auto& id : {build_id, WithoutPadding(build_id)}) {
    std::optional<Found> found =
        FirstWithCode(PathsInCache(options_.perf_cache, BuildIdText(id)), build_id);
    if (found) return found;
  }
  return std::nullopt;
}

std::optional<RecordedFiles::Found> RecordedFiles::FindByName(const std::string& path) const {
  if (options_.root.empty() || OpenRegularFile(path).valid()) return std::nullopt;
  const std::string file = options_.root + path.substr(path.rfind('/'));
  if (!OpenRegularFile(file).valid()) return std::nullopt;
  return Found{file, BuildIdAt(file)};
}

std::optional<RecordedFiles::Found> RecordedFiles::FindBelowRoot(std::span<const uint8_t> build_id,
                                                                 CancelCheck* check) {
  for (const auto& id : {build_id, WithoutPadding(build_id)}) {
    std::optional<Found> found =
        FirstWithCode(PathsInTrees(options_.root, BuildIdText(id)), build_id);
    if (found) return found;
  }
  if (!was_read_) ReadRoot(check);
  const auto paths = paths_.find(KeyOf(build_id));
  return paths == paths_.end() ? std::nullopt : FirstWithCode(paths->second, build_id);
}

bool RecordedFiles::IsGiven(const std::string& path) const {
  return std::any_of(options_.files.begin(), options_.files.end(),
                     [&](const auto& file) { return file.second == path; });
}

void RecordedFiles::Find(ProfileData* data, SessionLog* log, CancelCheck* check) {
  std::string named;
  size_t count = 0;
  const auto report = [&](const std::string& message) {
    if (log != nullptr) log->Log(LogLevel::kInfo, "%s", message.c_str());
    if (++count <= kMaxNamed) named += (named.empty() ? "" : "; ") + message;
  };
  for (ModuleRecord& module : data->modules) {
    // A file that the user named is not exchanged for another.
    if (module.kind != ModuleKind::kFile || IsGiven(LocalPath(module))) continue;
    const bool has_build_id = !module.build_id.empty();
    if (std::vector<uint8_t> id = BuildIdAt(LocalPath(module));
        has_build_id && !id.empty() && SameBuildId(id, module.build_id)) {
      module.build_id = std::move(id);
      continue;
    }
    std::optional<Found> found =
        has_build_id ? FindByBuildId(module.build_id, check) : FindByName(LocalPath(module));
    if (found) {
      report(LocalPath(module) + ": took " + found->path + ", which has its " +
             (has_build_id ? "build ID" : "name, as its build ID was not recorded"));
      SetLocalPath(std::move(found->path), &module);
      module.build_id = std::move(found->build_id);
    } else if (!debug_only_.empty()) {
      report(LocalPath(module) + ": " + debug_only_ +
             " has its build ID, but no code (a separate debug file); add the binary");
    }
  }
  if (count > kMaxNamed) {
    named += ", and " + std::to_string(count - kMaxNamed) + " more by build ID";
  }
  if (is_cut_) {
    const std::string message = options_.root + ": only the first " + std::to_string(max_files_) +
                                " files were searched by build ID; name a smaller directory";
    named += (named.empty() ? "" : "; ") + message;
  }
  if (!data->sources.empty()) AppendNote(named, &data->sources.front().note);
}

Status MoveFiles(const ImportOptions& options, ProfileData* data, CancelCheck* check) {
  struct stat status;
  const bool has_root = !options.root.empty();
  if (has_root && (::stat(options.root.c_str(), &status) != 0 || !S_ISDIR(status.st_mode))) {
    return MakeStatus(StatusCode::kNotFound, "%s: not a directory with the files of a profile",
                      options.root.c_str());
  }
  std::set<std::string> used;
  for (ModuleRecord& module : data->modules) {
    if (module.kind != ModuleKind::kFile) continue;
    if (const auto file = FindMovedFile(options, module.path); file != options.files.end()) {
      used.insert(file->first);
      SetLocalPath(file->second, &module);
      module.pinned_file = nullptr;
    } else if (has_root && FindRecordedFileState(module) != RecordedFileState::kFound) {
      const std::string path = LocalPath(options, module.path);
      if (OpenRegularFile(path).valid()) SetLocalPath(path, &module);
    }
  }
  for (const auto& [recorded, here] : options.files) {
    if (used.contains(recorded)) continue;
    return MakeStatus(StatusCode::kNotFound, "%s: not the path or name of any file of the profile",
                      recorded.c_str());
  }
  RecordedFiles(options).Find(data, nullptr, check);
  return OkStatus();
}

}  // namespace hbbp
