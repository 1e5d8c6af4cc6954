#include "image/elf_file.h"

#include <libelf.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

namespace hbbp {
namespace {

// Offsets in a string table have 32 bits, so no table that is in use is larger.
constexpr uint64_t kMaxSectionBytes = 1ull << 32;

Status CheckHeader(std::span<const uint8_t> bytes, const std::string& name, ElfKind kind) {
  Elf64_Ehdr header;
  if (bytes.size() < sizeof(header) || std::memcmp(bytes.data(), ELFMAG, SELFMAG) != 0) {
    return MakeStatus(StatusCode::kBadFormat, "%s: not an ELF file", name.c_str());
  }
  std::memcpy(&header, bytes.data(), sizeof(header));
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB ||
      header.e_machine != EM_X86_64) {
    return MakeStatus(StatusCode::kBadFormat, "%s: an ELF file, but not for x86-64", name.c_str());
  }
  const bool is_relocatable = header.e_type == ET_REL && kind == ElfKind::kAny;
  if (header.e_type != ET_EXEC && header.e_type != ET_DYN && !is_relocatable) {
    return MakeStatus(StatusCode::kBadFormat, "%s: neither an executable nor a shared object",
                      name.c_str());
  }
  return OkStatus();
}

// libelf returns the same for bad content and for lack of memory; only errno, which its allocations
// set, shows the difference.
void ThrowIfNoMemory() {
  if (errno == ENOMEM) throw std::bad_alloc();
}

Elf* OpenElf(const FileBytes& bytes) {
  static const bool version_agreed = elf_version(EV_CURRENT) != EV_NONE;
  if (!version_agreed) return nullptr;
  if (bytes.fd() >= 0) return elf_begin(bytes.fd(), ELF_C_READ, nullptr);
  std::span<const uint8_t> memory = bytes.memory();
  // libelf takes a writable pointer, but only elf_update writes.
  return elf_memory(reinterpret_cast<char*>(const_cast<uint8_t*>(memory.data())), memory.size());
}

}  // namespace

StatusOr<std::unique_ptr<ElfFile>> ElfFile::Create(std::unique_ptr<FileBytes> bytes,
                                                   const std::string& name, ElfKind kind) {
  HBBP_RETURN_IF_ERROR(CheckHeader(bytes->Span({0}, sizeof(Elf64_Ehdr)), name, kind));
  errno = 0;
  Elf* elf = OpenElf(*bytes);
  if (elf == nullptr) {
    ThrowIfNoMemory();
    return MakeStatus(StatusCode::kBadFormat, "%s: %s", name.c_str(), elf_errmsg(-1));
  }
  std::unique_ptr<ElfFile> file(new ElfFile(std::move(bytes), elf));
  file->LoadSegmentHeaders();
  file->LoadSections();
  return file;
}

ElfFile::ElfFile(std::unique_ptr<FileBytes> bytes, Elf* elf)
    : bytes_(std::move(bytes)), elf_(elf) {}

ElfFile::~ElfFile() { elf_end(elf_); }

void ElfFile::LoadSegmentHeaders() {
  size_t count = 0;
  errno = 0;
  const bool has_count = elf_getphdrnum(elf_, &count) == 0;
  const void* headers = has_count ? elf64_getphdr(elf_) : nullptr;
  if (headers == nullptr) ThrowIfNoMemory();
  if (headers == nullptr || count == 0) return;
  // For an image in memory, libelf returns pointers into it, with any alignment.
  segment_headers_.resize(count);
  std::memcpy(segment_headers_.data(), headers, count * sizeof(Elf64_Phdr));
}

void ElfFile::LoadSections() {
  size_t count = 0;
  size_t names_index = 0;
  errno = 0;
  if (elf_getshdrnum(elf_, &count) != 0 || elf_getshdrstrndx(elf_, &names_index) != 0) {
    ThrowIfNoMemory();
    return;
  }
  for (size_t i = 0; i < count; ++i) {
    Elf_Scn* section = elf_getscn(elf_, i);
    const void* header = section == nullptr ? nullptr : elf64_getshdr(section);
    if (header == nullptr) {
      ThrowIfNoMemory();
      break;
    }
    std::memcpy(&sections_.emplace_back().header, header, sizeof(Elf64_Shdr));
  }
  if (names_index >= sections_.size()) return;
  std::span<const uint8_t> names = SectionBytes(sections_[names_index]);
  for (ElfSection& section : sections_) section.name = StringAt(names, section.header.sh_name);
}

const ElfSection* ElfFile::FindSection(std::string_view name) const {
  auto found = std::ranges::find(sections_, name, &ElfSection::name);
  return found == sections_.end() ? nullptr : &*found;
}

const ElfSection* ElfFile::FindSectionOfType(uint32_t type) const {
  auto found = std::ranges::find(sections_, type,
                                 [](const ElfSection& section) { return section.header.sh_type; });
  return found == sections_.end() ? nullptr : &*found;
}

std::span<const uint8_t> ElfFile::SectionBytes(const ElfSection& section) const {
  if (section.header.sh_type == SHT_NOBITS || section.header.sh_size > kMaxSectionBytes) return {};
  errno = 0;
  Elf_Scn* handle = elf_getscn(elf_, static_cast<size_t>(&section - sections_.data()));
  const Elf_Data* data = handle == nullptr ? nullptr : elf_rawdata(handle, nullptr);
  if (data == nullptr) ThrowIfNoMemory();
  if (data == nullptr || data->d_buf == nullptr) return {};
  return {static_cast<const uint8_t*>(data->d_buf), data->d_size};
}

std::span<const uint8_t> ElfFile::LinkedSectionBytes(const ElfSection& section) const {
  if (section.header.sh_link >= sections_.size()) return {};
  return SectionBytes(sections_[section.header.sh_link]);
}

std::string_view StringAt(std::span<const uint8_t> table, uint64_t offset) {
  if (offset >= table.size()) return {};
  const auto* start = reinterpret_cast<const char*>(table.data() + offset);
  return {start, ::strnlen(start, std::min<uint64_t>(table.size() - offset, kMaxNameSize))};
}

}  // namespace hbbp
