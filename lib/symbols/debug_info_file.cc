// FindDebugInfo tries the module itself, then the separate debug files of image/debug_file.h, then
// debuginfod, and takes the first that has .debug_info and matches by build ID or by the checksum
// of .gnu_debuglink. It then looks for the file that dwz moved shared parts to. Search keeps what
// was missing and what was refused for the message of the error. LineTable::Open calls it.
#include "symbols/debug_info_file.h"

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/joined_text.h"
#include "image/build_id.h"
#include "image/debug_file.h"
#include "image/elf_file.h"
#include "image/file_bytes.h"
#include "symbols/debuginfod.h"
#include "symbols/unpacked_debug.h"

namespace hbbp {
namespace {

constexpr const char* kInfoSections[] = {".debug_info", ".zdebug_info"};

const ElfSection* InfoSection(const ElfFile& file) {
  for (const char* name : kInfoSections) {
    const ElfSection* section = file.FindSection(name);
    if (section != nullptr && section->header.sh_type != SHT_NOBITS) return section;
  }
  return nullptr;
}

UniqueFd OpenForReading(const std::string& path) {
  // O_NONBLOCK: a FIFO of that name must not block.
  return UniqueFd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
}

std::unique_ptr<ElfFile> ReadHeaders(int fd, const std::string& path,
                                     ElfKind kind = ElfKind::kProgram) {
  UniqueFd copy(::fcntl(fd, F_DUPFD_CLOEXEC, 0));
  if (!copy.valid()) return nullptr;
  StatusOr<std::unique_ptr<FileBytes>> bytes = FileBytes::FromFd(std::move(copy), path);
  if (!bytes.ok()) return nullptr;
  StatusOr<std::unique_ptr<ElfFile>> file = ElfFile::Create(*std::move(bytes), path, kind);
  return file.ok() ? *std::move(file) : nullptr;
}

// Computes the checksum of .gnu_debuglink bit by bit: only files without build ID need it.
uint32_t Crc32OfFile(const FileBytes& bytes, const CancelFlag* cancel) {
  constexpr uint64_t kChunk = 1 << 20;
  static constexpr auto kTable = [] {
    std::array<uint32_t, 256> table{};
    for (uint32_t i = 0; i < table.size(); ++i) {
      uint32_t value = i;
      for (int bit = 0; bit < 8; ++bit) value = (value >> 1) ^ ((value & 1) * 0xedb88320u);
      table[i] = value;
    }
    return table;
  }();
  uint32_t crc = 0xffffffffu;
  for (uint64_t offset = 0; offset < bytes.size(); offset += kChunk) {
    CancelCheck(cancel).CheckNow();
    for (const uint8_t byte : bytes.Span({offset}, kChunk)) {
      crc = kTable[(crc ^ byte) & 0xff] ^ (crc >> 8);
    }
  }
  return ~crc;
}

std::optional<uint32_t> ChecksumOfLink(const ElfFile& file) {
  const ElfSection* link = file.FindSection(".gnu_debuglink");
  if (link == nullptr) return std::nullopt;
  const std::span<const uint8_t> bytes = file.SectionBytes(*link);
  const size_t position = (StringAt(bytes, 0).size() + 4) & ~size_t{3};
  uint32_t checksum;
  if (position > bytes.size() || bytes.size() - position < sizeof(checksum)) return std::nullopt;
  std::memcpy(&checksum, bytes.data() + position, sizeof(checksum));
  return checksum;
}

// Accepts files of dwz, which have only sections.
bool HasBuildId(int fd, const std::string& path, std::span<const uint8_t> build_id) {
  const std::unique_ptr<ElfFile> file = ReadHeaders(fd, path, ElfKind::kAny);
  const ElfSection* notes = file == nullptr ? nullptr : file->FindSection(".note.gnu.build-id");
  return notes != nullptr &&
         std::ranges::equal(ReadBuildIdInNotes(file->SectionBytes(*notes)), build_id);
}

// A search remembers what it has seen, for the message at its end.
class Search {
 public:
  Search(const DebugTarget& target, const DebugSearch& options)
      : target_(target), options_(options) {}

  StatusOr<DebugInfoFile> Run() {
    std::unique_ptr<ElfFile> module;
    if (target_.fd >= 0) module = ReadHeaders(target_.fd, target_.path);
    if (module != nullptr && InfoSection(*module) != nullptr) {
      return Found(UniqueFd(::fcntl(target_.fd, F_DUPFD_CLOEXEC, 0)), target_.path, *module);
    }
    if (!options_.debug_root.empty()) {
      for (const std::string& candidate :
           DebugFileCandidates(module.get(), target_.build_id, target_.path, options_.debug_root)) {
        std::optional<DebugInfoFile> found = Try(candidate, module.get());
        if (found) return *std::move(found);
      }
    }
    if (options_.use_debuginfod && !target_.build_id.empty()) {
      StatusOr<FetchedFile> fetched = FetchDebugFile(target_.build_id, options_.cancel);
      if (!fetched.ok()) {
        refusals_.push_back(fetched.status().message());
      } else if (const auto file = ReadHeaders(fetched->fd.get(), fetched->path);
                 file != nullptr && InfoSection(*file) != nullptr) {
        return Found(std::move(fetched->fd), fetched->path, *file);
      }
    }
    return NotFound();
  }

 private:
  std::optional<DebugInfoFile> Try(const std::string& path, const ElfFile* module) {
    UniqueFd fd = OpenForReading(path);
    if (!fd.valid()) {
      (errno == ENOENT || errno == ENOTDIR ? absent_ : refusals_)
          .push_back(errno == ENOENT || errno == ENOTDIR ? path
                                                         : path + ": " + std::strerror(errno));
      return std::nullopt;
    }
    const std::unique_ptr<ElfFile> file = ReadHeaders(fd.get(), path);
    if (file == nullptr) {
      refusals_.push_back(path + ": no ELF file of x86-64");
    } else if (InfoSection(*file) == nullptr) {
      refusals_.push_back(path + ": no .debug_info in it");
    } else if (IsOfModule(fd.get(), *file, path, module)) {
      return Found(std::move(fd), path, *file);
    }
    return std::nullopt;
  }

  bool IsOfModule(int fd, const ElfFile& file, const std::string& path, const ElfFile* module) {
    const std::vector<uint8_t> build_id = ReadBuildIdOfFd(fd);
    if (!target_.build_id.empty() || !build_id.empty()) {
      if (SameBuildId(build_id, target_.build_id)) return true;
      refusals_.push_back(path + ": of build ID " + BuildIdText(build_id) + ", not " +
                          BuildIdText(target_.build_id));
    } else {
      const std::optional<uint32_t> wanted =
          module == nullptr ? std::nullopt : ChecksumOfLink(*module);
      if (wanted && Crc32OfFile(file.bytes(), options_.cancel) == *wanted) return true;
      refusals_.push_back(path + ": not of the checksum that .gnu_debuglink has");
    }
    is_mismatch_ = true;
    return false;
  }

  DebugInfoFile Found(UniqueFd fd, const std::string& path, const ElfFile& file) {
    DebugInfoFile found;
    found.fd = std::move(fd);
    found.path = path;
    const ElfSection& info = *InfoSection(file);
    found.info_bytes = info.header.sh_size;
    if ((info.header.sh_flags & SHF_COMPRESSED) != 0) {
      Elf64_Chdr header;
      const std::span<const uint8_t> bytes =
          file.bytes().Span({info.header.sh_offset}, sizeof(header));
      if (bytes.size() >= sizeof(header)) {
        std::memcpy(&header, bytes.data(), sizeof(header));
        found.info_bytes = header.ch_size;
      }
    }
    found.is_packed = IsWorthUnpacking(file);
    FindShared(file, &found);
    return found;
  }

  void FindShared(const ElfFile& file, DebugInfoFile* found) const {
    const ElfSection* link = file.FindSection(".gnu_debugaltlink");
    if (link == nullptr) return;
    const std::span<const uint8_t> bytes = file.SectionBytes(*link);
    const std::string name(StringAt(bytes, 0));
    if (name.empty() || name.size() + 1 >= bytes.size()) return;
    const std::span<const uint8_t> build_id = bytes.subspan(name.size() + 1);
    std::vector<std::string> candidates;
    if (name.front() == '/') {
      candidates.push_back(name);
    } else {
      candidates.push_back(found->path.substr(0, found->path.rfind('/') + 1) + name);
    }
    if (!options_.debug_root.empty()) {
      candidates.push_back(BuildIdFile(build_id, options_.debug_root));
      const size_t dwz = name.find("/.dwz/");
      if (dwz != std::string::npos) candidates.push_back(options_.debug_root + name.substr(dwz));
    }
    for (const std::string& candidate : candidates) {
      UniqueFd fd = OpenForReading(candidate);
      if (!fd.valid() || !HasBuildId(fd.get(), candidate, build_id)) continue;
      found->shared_fd = std::move(fd);
      found->shared_path = candidate;
      return;
    }
    found->problem =
        found->path +
        ": what dwz moved out of it is missing, so that functions may lack names; looked for "
        "build ID " +
        BuildIdText(build_id) + " in " + JoinedText(candidates, ", ");
  }

  Status NotFound() const {
    std::string message = target_.path + ": no debug information";
    if (!refusals_.empty()) message += "; " + JoinedText(refusals_, "; ");
    if (!absent_.empty()) message += "; there is no " + JoinedText(absent_, ", ");
    message += "; ";
    message += is_mismatch_ ? "install the debug package of this very version" : target_.advice;
    if (!options_.use_debuginfod) message += ", or allow debuginfod";
    return Status(is_mismatch_ ? StatusCode::kMismatch : StatusCode::kNotFound, std::move(message));
  }

  const DebugTarget& target_;
  const DebugSearch& options_;
  std::vector<std::string> absent_;
  std::vector<std::string> refusals_;
  bool is_mismatch_ = false;
};

}  // namespace

StatusOr<DebugInfoFile> FindDebugInfo(const DebugTarget& target, const DebugSearch& search) {
  return Search(target, search).Run();
}

}  // namespace hbbp
