// UnpackDebugSections plans which sections lines need and how large they become (Plan), opens a
// file without a name in a directory with enough room, and writes each section to it by
// SectionFile, inflated (Inflate), decompressed (Decompress) or copied (Copy) in chunks, with a
// call of `progress` after each. LineTable calls it when it opens a file, and SplitUnits for the
// sections of a package's program.
#include "symbols/unpacked_debug.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/statvfs.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/shared_library.h"
#include "base/zstd_stream.h"
#include "symbols/section_file.h"

namespace hbbp {
namespace {

constexpr uint64_t kLarge = 32ull << 20;
constexpr size_t kChunk = 1 << 18;
// A byte of deflated data expands to at most so many, and one of zstd's, whose shortest block is of
// 4 bytes.
constexpr uint64_t kMaxInflated = 1032;
constexpr uint64_t kMaxDecompressed = (128 << 10) / 4;
// All sections together do not, beyond some size: real ones expand to some four times theirs.
constexpr uint64_t kMaxFactor = 64;
constexpr uint64_t kMaxOfAnyFactor = 256ull << 20;

// ELFCOMPRESS_ZSTD, which older headers lack.
constexpr uint32_t kByZstd = 2;

constexpr std::string_view kNeeded[] = {
    ".debug_info",   ".debug_abbrev", ".debug_line",     ".debug_str",   ".debug_line_str",
    ".debug_ranges", ".debug_addr",   ".debug_rnglists", ".debug_types", ".debug_str_offsets"};

// zlib is loaded for the reasons in libdw.h; libelf needs it, so it is installed.
struct Zlib {
  decltype(&::inflateInit_) init = nullptr;
  decltype(&::inflate) inflate = nullptr;
  decltype(&::inflateEnd) end = nullptr;
};

const Zlib* LoadZlib() {
  static const std::optional<Zlib> loaded = []() -> std::optional<Zlib> {
    const StatusOr<void*> library = LoadSharedLibrary("libz.so.1");
    if (!library.ok()) return std::nullopt;
    Zlib zlib;
    zlib.init = reinterpret_cast<decltype(zlib.init)>(::dlsym(*library, "inflateInit_"));
    zlib.inflate = reinterpret_cast<decltype(zlib.inflate)>(::dlsym(*library, "inflate"));
    zlib.end = reinterpret_cast<decltype(zlib.end)>(::dlsym(*library, "inflateEnd"));
    if (zlib.init == nullptr || zlib.inflate == nullptr || zlib.end == nullptr) return std::nullopt;
    return zlib;
  }();
  return loaded ? &*loaded : nullptr;
}

std::optional<Elf64_Chdr> ReadCompression(const ElfFile& file, const ElfSection& section) {
  Elf64_Chdr header;
  if ((section.header.sh_flags & SHF_COMPRESSED) == 0 || section.header.sh_size < sizeof(header) ||
      ::pread(file.bytes().fd(), &header, sizeof(header),
              static_cast<off_t>(section.header.sh_offset)) != sizeof(header)) {
    return std::nullopt;
  }
  return header;
}

// Opens a file in a directory that has at least twice that room.
UniqueFd NamelessFile(uint64_t bytes) {
  const char* const chosen = std::getenv("TMPDIR");
  for (const char* directory : {chosen, "/var/tmp", "/tmp"}) {
    struct statvfs room;
    if (directory == nullptr || *directory == '\0' || ::statvfs(directory, &room) != 0 ||
        room.f_bavail * room.f_frsize / 2 < bytes) {
      continue;
    }
    UniqueFd file(::open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
    if (file.valid()) return file;
    std::string name = std::string(directory) + "/hbbp-debug-XXXXXX";
    file = UniqueFd(::mkostemp(name.data(), O_CLOEXEC));
    if (!file.valid()) continue;
    ::unlink(name.c_str());
    return file;
  }
  return UniqueFd();
}

class Unpacker {
 public:
  Unpacker(const ElfFile& file, const std::function<void(uint64_t done, uint64_t total)>& progress)
      : file_(file), progress_(progress) {}

  StatusOr<UniqueFd> Run() {
    HBBP_RETURN_IF_ERROR(Plan());
    UniqueFd nameless = NamelessFile(total_);
    if (!nameless.valid()) {
      return MakeStatus(StatusCode::kIo, "no room for %llu bytes in TMPDIR, /var/tmp, /tmp",
                        static_cast<unsigned long long>(total_));
    }
    SectionFile out(std::move(nameless));
    for (const Part& part : parts_) {
      out.Begin(part.section->name);
      HBBP_RETURN_IF_ERROR(Write(part, &out));
    }
    return out.Finish();
  }

 private:
  struct Part {
    const ElfSection* section;
    std::optional<Elf64_Chdr> packed;
    uint64_t bytes;
  };

  Status Plan() {
    uint64_t packed_bytes = 0;
    for (const ElfSection& section : file_.sections()) {
      if (section.header.sh_type == SHT_NOBITS || std::ranges::count(kNeeded, section.name) == 0) {
        continue;
      }
      Part part{&section, ReadCompression(file_, section), section.header.sh_size};
      if (part.packed) {
        part.bytes = part.packed->ch_size;
        HBBP_ASSIGN_OR_RETURN(const uint64_t max_factor, LoadDecompressor(part));
        if (part.bytes / max_factor > section.header.sh_size) return Damaged(part);
      }
      const bool is_known = std::ranges::any_of(
          parts_, [&](const Part& other) { return other.section->name == section.name; });
      if (is_known) return Damaged(part);
      parts_.push_back(part);
      total_ += part.bytes;
      packed_bytes += section.header.sh_size;
      const bool is_bomb = total_ > kMaxOfAnyFactor && total_ / kMaxFactor > packed_bytes;
      if (is_bomb) return Damaged(part);
    }
    return OkStatus();
  }

  // Returns by how much the compression shortens at most.
  StatusOr<uint64_t> LoadDecompressor(const Part& part) {
    switch (part.packed->ch_type) {
      case ELFCOMPRESS_ZLIB:
        zlib_ = LoadZlib();
        if (zlib_ != nullptr) return kMaxInflated;
        return MakeStatus(StatusCode::kUnsupported, "libz.so.1 cannot be loaded");
      case kByZstd: {
        HBBP_ASSIGN_OR_RETURN(zstd_, LoadLibzstd());
        return kMaxDecompressed;
      }
      default:
        return MakeStatus(StatusCode::kUnsupported, "%s has compression %u",
                          std::string(part.section->name).c_str(), part.packed->ch_type);
    }
  }

  Status Damaged(const Part& part) const {
    return MakeStatus(StatusCode::kBadFormat, "%s at 0x%llx cannot be unpacked",
                      std::string(part.section->name).c_str(),
                      static_cast<unsigned long long>(part.section->header.sh_offset));
  }

  // Calls `visit(bytes)` for each chunk of the section, from `skip` on.
  template <typename Visitor>
  Status ForEachChunk(const Part& part, uint64_t skip, Visitor&& visit) {
    const Elf64_Shdr& header = part.section->header;
    for (uint64_t at = skip; at < header.sh_size;) {
      const size_t wanted = std::min<uint64_t>(in_.size(), header.sh_size - at);
      const ssize_t got = ::pread(file_.bytes().fd(), in_.data(), wanted,
                                  static_cast<off_t>(header.sh_offset + at));
      if (got <= 0) return Damaged(part);
      HBBP_RETURN_IF_ERROR(visit(std::span(in_).first(static_cast<size_t>(got))));
      at += static_cast<uint64_t>(got);
      if (progress_) progress_(done_, total_);
    }
    return OkStatus();
  }

  Status Write(const Part& part, SectionFile* out) {
    if (!part.packed) return Copy(part, out);
    return part.packed->ch_type == kByZstd ? Decompress(part, out) : Inflate(part, out);
  }

  Status Copy(const Part& part, SectionFile* out) {
    return ForEachChunk(part, 0, [&](std::span<const uint8_t> bytes) {
      done_ += bytes.size();
      return out->Write(bytes);
    });
  }

  Status Decompress(const Part& part, SectionFile* out) {
    ZstdStream stream(*zstd_);
    uint64_t left = part.bytes;
    const Status read =
        ForEachChunk(part, sizeof(Elf64_Chdr), [&](std::span<const uint8_t> bytes) -> Status {
          Status written;
          const Status decompressed = stream.Decompress(bytes, [&](std::span<const uint8_t> block) {
            if (!written.ok()) return;
            written = block.size() <= left ? out->Write(block) : Damaged(part);
            if (!written.ok()) return;
            done_ += block.size();
            left -= block.size();
            if (progress_) progress_(done_, total_);
          });
          if (!written.ok()) return written;
          return decompressed.ok() ? OkStatus() : Damaged(part);
        });
    HBBP_RETURN_IF_ERROR(read);
    return left == 0 ? OkStatus() : Damaged(part);
  }

  Status Inflate(const Part& part, SectionFile* out) {
    z_stream stream = {};
    if (zlib_->init(&stream, ZLIB_VERSION, sizeof(stream)) != Z_OK) return Damaged(part);
    const std::unique_ptr<z_stream, decltype(zlib_->end)> owned(&stream, zlib_->end);
    uint64_t left = part.bytes;
    const Status read =
        ForEachChunk(part, sizeof(Elf64_Chdr), [&](std::span<const uint8_t> bytes) -> Status {
          stream.next_in = const_cast<uint8_t*>(bytes.data());
          stream.avail_in = static_cast<uInt>(bytes.size());
          while (left != 0 && (stream.avail_in != 0 || stream.avail_out == 0)) {
            stream.next_out = inflated_.data();
            stream.avail_out = static_cast<uInt>(inflated_.size());
            const int result = zlib_->inflate(&stream, Z_NO_FLUSH);
            if (result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR) {
              return Damaged(part);
            }
            const uint64_t got = std::min<uint64_t>(left, inflated_.size() - stream.avail_out);
            HBBP_RETURN_IF_ERROR(out->Write(std::span(inflated_).first(got)));
            done_ += got;
            left -= got;
            if (progress_) progress_(done_, total_);
            if (result == Z_STREAM_END || got == 0) break;
          }
          return OkStatus();
        });
    HBBP_RETURN_IF_ERROR(read);
    return left == 0 ? OkStatus() : Damaged(part);
  }

  const ElfFile& file_;
  const std::function<void(uint64_t done, uint64_t total)>& progress_;
  const Zlib* zlib_ = nullptr;
  const Libzstd* zstd_ = nullptr;
  std::vector<Part> parts_;
  uint64_t total_ = 0;
  uint64_t done_ = 0;
  std::vector<uint8_t> in_ = std::vector<uint8_t>(kChunk);
  std::vector<uint8_t> inflated_ = std::vector<uint8_t>(kChunk);
};

}  // namespace

bool IsWorthUnpacking(const ElfFile& file) {
  const ElfSection* const info = file.FindSection(".debug_info");
  if (info == nullptr || file.bytes().fd() < 0) return false;
  const std::optional<Elf64_Chdr> packed = ReadCompression(file, *info);
  return packed && (packed->ch_size >= kLarge || packed->ch_type == kByZstd);
}

StatusOr<UniqueFd> UnpackDebugSections(
    int fd, const std::string& path,
    const std::function<void(uint64_t done, uint64_t total)>& progress) {
  HBBP_ASSIGN_OR_RETURN(std::unique_ptr<FileBytes> bytes,
                        FileBytes::FromFd(UniqueFd(::fcntl(fd, F_DUPFD_CLOEXEC, 0)), path));
  HBBP_ASSIGN_OR_RETURN(const std::unique_ptr<ElfFile> file,
                        ElfFile::Create(std::move(bytes), path, ElfKind::kAny));
  return Unpacker(*file, progress).Run();
}

}  // namespace hbbp
