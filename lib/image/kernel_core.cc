// KernelCore::Open reads the ELF header and the program headers, in batches; of them, AddSegment
// keeps those of kernel memory and reads the notes, in which VMCOREINFO has the build ID and the
// address of _stext; FinishSegments sorts the segments. Read then finds the segment of an address
// by binary search and reads the file. analysis/ opens the core files that options name, and
// KernelCode reads them page by page.
#include "image/kernel_core.h"

#include <elf.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cinttypes>
#include <cstring>
#include <string_view>
#include <utility>

#include "base/byte_cursor.h"
#include "base/files.h"
#include "base/hex_bytes.h"

namespace hbbp {
namespace {

// The kernel uses the upper half of the address space.
constexpr uint64_t kKernelHalf = uint64_t{1} << 63;
// The dump of a machine with terabytes has some ten thousand segments.
constexpr uint64_t kMaxSegments = uint64_t{1} << 20;
constexpr size_t kSegmentsAtOnce = 1024;
// Notes are mostly registers, 400 bytes for each CPU; VMCOREINFO has a page.
constexpr uint64_t kMaxNoteBytes = uint64_t{4} << 20;
constexpr size_t kMaxBuildIdBytes = 64;

Status OpenStatus(int error_number, const std::string& path) {
  Status status = ErrnoStatus(error_number, path);
  if (path != kLiveKernelCore) return status;
  if (status.code() == StatusCode::kNotFound) {
    return MakeStatus(
        StatusCode::kNotFound,
        "%s: this kernel does not have it (CONFIG_PROC_KCORE), or this container does "
        "not; give a vmlinux or a core file",
        path.c_str());
  }
  if (status.code() != StatusCode::kPermission) return status;
  StatusOr<std::string> lockdown = ReadTextFile("/sys/kernel/security/lockdown", 4096);
  const bool is_locked = lockdown.ok() && lockdown->find("[confidentiality]") != std::string::npos;
  return MakeStatus(
      StatusCode::kPermission, "%s: %s", path.c_str(),
      is_locked ? "the kernel is locked down (confidentiality), so no one may read it; give a "
                  "vmlinux"
                : "not permitted; it takes root with CAP_SYS_RAWIO, which containers do not have; "
                  "or give a vmlinux");
}

}  // namespace

StatusOr<std::shared_ptr<const KernelCore>> KernelCore::Open(const std::string& path) {
  // O_NONBLOCK: opening a FIFO must not block.
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!fd.valid()) return OpenStatus(errno, path);
  return FromFd(std::move(fd), path);
}

StatusOr<std::shared_ptr<const KernelCore>> KernelCore::FromFd(UniqueFd fd,
                                                               const std::string& name) {
  const std::shared_ptr<KernelCore> core(new KernelCore(std::move(fd), name));
  const Status status = core->Load();
  if (!status.ok()) return status.Annotate(name);
  return std::shared_ptr<const KernelCore>(core);
}

size_t KernelCore::ReadAt(uint64_t offset, std::span<uint8_t> buffer) const {
  size_t used = 0;
  while (used < buffer.size()) {
    const ssize_t got = ::pread(fd_.get(), buffer.data() + used, buffer.size() - used,
                                static_cast<off_t>(offset + used));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    used += static_cast<size_t>(got);
  }
  return used;
}

Status KernelCore::Load() {
  struct stat status;
  if (::fstat(fd_.get(), &status) != 0) return ErrnoStatus(errno, "fstat");
  if (!S_ISREG(status.st_mode)) return MakeStatus(StatusCode::kBadFormat, "not a regular file");
  // Sizes of files in /proc mean nothing.
  struct statfs system;
  const bool is_proc = ::fstatfs(fd_.get(), &system) == 0 && system.f_type == PROC_SUPER_MAGIC;
  file_size_ = is_proc ? UINT64_MAX : static_cast<uint64_t>(status.st_size);

  Elf64_Ehdr header;
  if (ReadAt(0, {reinterpret_cast<uint8_t*>(&header), sizeof(header)}) != sizeof(header) ||
      std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) {
    return MakeStatus(StatusCode::kBadFormat, "not an ELF file");
  }
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB ||
      header.e_machine != EM_X86_64 || header.e_type != ET_CORE) {
    return MakeStatus(
        StatusCode::kBadFormat,
        "an ELF file of type %u for machine %u, but no core file of an x86-64 kernel; "
        "a static kernel is a vmlinux",
        unsigned{header.e_type}, unsigned{header.e_machine});
  }
  if (header.e_phentsize != sizeof(Elf64_Phdr)) {
    return MakeStatus(StatusCode::kBadFormat, "program headers of %u bytes at byte 54, not %zu",
                      unsigned{header.e_phentsize}, sizeof(Elf64_Phdr));
  }
  uint64_t count = header.e_phnum;
  if (count == PN_XNUM) {
    Elf64_Shdr first;
    if (header.e_shoff > INT64_MAX - sizeof(first) ||
        ReadAt(header.e_shoff, {reinterpret_cast<uint8_t*>(&first), sizeof(first)}) !=
            sizeof(first)) {
      return MakeStatus(StatusCode::kBadFormat,
                        "truncated: no section header, which has the number of segments, at byte "
                        "%" PRIu64,
                        uint64_t{header.e_shoff});
    }
    count = first.sh_info;
  }
  if (count > kMaxSegments) {
    return MakeStatus(StatusCode::kBadFormat, "%" PRIu64 " segments, more than any kernel has",
                      count);
  }
  HBBP_RETURN_IF_ERROR(LoadSegments(header.e_phoff, count));
  FinishSegments();
  if (segments_.empty()) {
    return MakeStatus(StatusCode::kBadFormat,
                      "none of its %" PRIu64 " segments has memory of a kernel%s%s", count,
                      problem_.empty() ? "" : "; ", problem_.c_str());
  }
  return OkStatus();
}

Status KernelCore::LoadSegments(uint64_t table_offset, uint64_t count) {
  if (table_offset > INT64_MAX - count * sizeof(Elf64_Phdr)) {
    return MakeStatus(StatusCode::kBadFormat, "program headers at byte %" PRIu64, table_offset);
  }
  std::vector<Elf64_Phdr> headers;
  for (uint64_t first = 0; first < count; first += headers.size()) {
    headers.resize(std::min<uint64_t>(count - first, kSegmentsAtOnce));
    const uint64_t offset = table_offset + first * sizeof(Elf64_Phdr);
    const size_t bytes = headers.size() * sizeof(Elf64_Phdr);
    const size_t got = ReadAt(offset, {reinterpret_cast<uint8_t*>(headers.data()), bytes});
    if (got != bytes) {
      return MakeStatus(StatusCode::kBadFormat,
                        "truncated: %" PRIu64 " program headers, but no more at byte %" PRIu64,
                        count, offset + got);
    }
    for (size_t i = 0; i < headers.size(); ++i) {
      HBBP_RETURN_IF_ERROR(AddSegment(first + i, &headers[i]));
    }
  }
  return OkStatus();
}

Status KernelCore::AddSegment(uint64_t index, const void* header) {
  Elf64_Phdr segment;
  std::memcpy(&segment, header, sizeof(segment));
  if (segment.p_type != PT_LOAD && segment.p_type != PT_NOTE) return OkStatus();
  if (segment.p_offset > INT64_MAX || segment.p_filesz > INT64_MAX - segment.p_offset) {
    return MakeStatus(StatusCode::kBadFormat,
                      "segment %" PRIu64 ": 0x%" PRIx64 " bytes at byte 0x%" PRIx64
                      ", which no file has",
                      index, uint64_t{segment.p_filesz}, uint64_t{segment.p_offset});
  }
  if (segment.p_type == PT_NOTE) {
    ReadNotes(segment.p_offset, segment.p_filesz);
    return OkStatus();
  }
  if (segment.p_vaddr < kKernelHalf || segment.p_filesz == 0) return OkStatus();
  if (segment.p_filesz > UINT64_MAX - segment.p_vaddr) {
    return MakeStatus(StatusCode::kBadFormat,
                      "segment %" PRIu64 ": 0x%" PRIx64 " bytes from address 0x%" PRIx64
                      " on reach beyond the end of memory",
                      index, uint64_t{segment.p_filesz}, uint64_t{segment.p_vaddr});
  }
  const uint64_t available =
      segment.p_offset < file_size_ ? file_size_ - segment.p_offset : uint64_t{0};
  if (available < segment.p_filesz) ++truncated_segments_;
  const uint64_t size = std::min<uint64_t>(segment.p_filesz, available);
  if (size == 0) return OkStatus();
  segments_.push_back({{{segment.p_vaddr}, {segment.p_vaddr + size}}, segment.p_offset});
  return OkStatus();
}

void KernelCore::FinishSegments() {
  std::ranges::sort(segments_, [](const Segment& a, const Segment& b) {
    return std::pair(a.range.start, a.offset) < std::pair(b.range.start, b.offset);
  });
  ModuleAddress end{0};
  std::erase_if(segments_, [&end](const Segment& segment) {
    if (segment.range.start < end) return true;
    end = segment.range.end;
    return false;
  });
  if (truncated_segments_ != 0) {
    problem_ = std::to_string(truncated_segments_) +
               " segments reach beyond the end of the file at byte " + std::to_string(file_size_) +
               ": it is truncated";
  }
}

void KernelCore::ReadNotes(uint64_t offset, uint64_t size) {
  std::vector<uint8_t> notes(std::min({size, kMaxNoteBytes - note_bytes_, file_size_}));
  note_bytes_ += notes.size();
  notes.resize(ReadAt(offset, notes));
  ByteCursor cursor(notes);
  Elf64_Nhdr header;
  const auto align = [&cursor] {
    (void)cursor.Skip(std::min((4 - cursor.position() % 4) % 4, cursor.remaining()));
  };
  std::span<const uint8_t> name, description;
  while (cursor.Read(&header) && cursor.ReadBytes(header.n_namesz, &name)) {
    align();
    if (!cursor.ReadBytes(header.n_descsz, &description)) break;
    align();
    constexpr std::string_view kVmcoreInfo = "VMCOREINFO";
    const bool is_vmcoreinfo =
        name.size() >= kVmcoreInfo.size() &&
        std::memcmp(name.data(), kVmcoreInfo.data(), kVmcoreInfo.size()) == 0;
    if (!is_vmcoreinfo) continue;
    ReadVmcoreInfo({reinterpret_cast<const char*>(description.data()), description.size()});
  }
}

// VMCOREINFO consists of lines KEY=VALUE.
void KernelCore::ReadVmcoreInfo(std::string_view text) {
  const auto value_of = [text](std::string_view key) -> std::string_view {
    for (std::string_view rest = text; !rest.empty();) {
      const std::string_view line = rest.substr(0, rest.find('\n'));
      rest.remove_prefix(std::min(line.size() + 1, rest.size()));
      if (line.starts_with(key)) return line.substr(key.size());
    }
    return {};
  };
  build_id_ = BytesOfHex(value_of("BUILD-ID=").substr(0, 2 * kMaxBuildIdBytes));
  const std::string_view stext = value_of("SYMBOL(_stext)=");
  uint64_t address = 0;
  const auto [end, error] = std::from_chars(stext.data(), stext.data() + stext.size(), address, 16);
  if (error == std::errc() && address >= kKernelHalf) stext_ = ModuleAddress{address};
}

std::optional<AddressRange> KernelCore::SegmentAround(ModuleAddress address) const {
  const auto after = std::ranges::upper_bound(
      segments_, address, {}, [](const Segment& segment) { return segment.range.start; });
  if (after == segments_.begin()) return std::nullopt;
  const AddressRange& range = std::prev(after)->range;
  return range.Contains(address) ? std::optional(range) : std::nullopt;
}

size_t KernelCore::Read(ModuleAddress address, std::span<uint8_t> buffer) const {
  const auto after = std::ranges::upper_bound(
      segments_, address, {}, [](const Segment& segment) { return segment.range.start; });
  if (after == segments_.begin()) return 0;
  const Segment& segment = *std::prev(after);
  if (!segment.range.Contains(address)) return 0;
  const uint64_t size = std::min<uint64_t>(buffer.size(), segment.range.end - address);
  return ReadAt(segment.offset + (address - segment.range.start), buffer.first(size));
}

}  // namespace hbbp
