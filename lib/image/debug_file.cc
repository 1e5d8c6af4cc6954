#include "image/debug_file.h"

#include <fcntl.h>

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "image/build_id.h"
#include "image/file_bytes.h"

namespace hbbp {
namespace {

std::unique_ptr<ElfFile> OpenIfSame(const std::string& path, std::span<const uint8_t> build_id) {
  // O_NONBLOCK: a FIFO of that name must not block.
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!fd.valid() || !SameBuildId(ReadBuildIdOfFd(fd.get()), build_id)) return nullptr;
  StatusOr<std::unique_ptr<FileBytes>> bytes = FileBytes::FromFdToKeep(std::move(fd), path);
  if (!bytes.ok()) return nullptr;
  StatusOr<std::unique_ptr<ElfFile>> file = ElfFile::Create(*std::move(bytes), path);
  if (!file.ok()) return nullptr;
  // A debug link may name the stripped file itself, which has no more symbols.
  if ((*file)->FindSectionOfType(SHT_SYMTAB) == nullptr) return nullptr;
  return *std::move(file);
}

}  // namespace

std::string BuildIdFile(std::span<const uint8_t> build_id, const std::string& debug_root) {
  if (build_id.size() < 2) return {};
  const std::string id = BuildIdText(build_id);
  return debug_root + "/.build-id/" + id.substr(0, 2) + "/" + id.substr(2) + ".debug";
}

std::vector<std::string> DebugFileCandidates(const ElfFile* file, std::span<const uint8_t> build_id,
                                             const std::string& path,
                                             const std::string& debug_root) {
  std::vector<std::string> candidates;
  if (build_id.size() >= 2) candidates.push_back(BuildIdFile(build_id, debug_root));
  const ElfSection* link = file == nullptr ? nullptr : file->FindSection(".gnu_debuglink");
  const size_t directory_end = path.rfind('/');
  if (link == nullptr || directory_end == std::string::npos) return candidates;
  const std::string name(StringAt(file->SectionBytes(*link), 0));
  if (name.empty() || name.find('/') != std::string::npos) return candidates;
  const std::string directory = path.substr(0, directory_end + 1);
  candidates.push_back(directory + name);
  candidates.push_back(directory + ".debug/" + name);
  if (directory.front() == '/') candidates.push_back(debug_root + directory + name);
  return candidates;
}

std::unique_ptr<ElfFile> OpenDebugFile(const ElfFile& file, std::span<const uint8_t> build_id,
                                       const std::string& path, const std::string& debug_root) {
  if (build_id.empty() || debug_root.empty()) return nullptr;
  for (const std::string& candidate : DebugFileCandidates(&file, build_id, path, debug_root)) {
    std::unique_ptr<ElfFile> debug = OpenIfSame(candidate, build_id);
    if (debug != nullptr) return debug;
  }
  return nullptr;
}

}  // namespace hbbp
