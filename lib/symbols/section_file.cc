#include "symbols/section_file.h"

#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace hbbp {
namespace {

constexpr size_t kBuffer = 1 << 18;
constexpr const char* kWhat = "a file for debug sections";

std::span<const uint8_t> AsBytes(const void* data, size_t size) {
  return {static_cast<const uint8_t*>(data), size};
}

}  // namespace

Status SectionFile::Flush() {
  // A write beyond the limit would end the process by SIGXFSZ.
  struct rlimit limit;
  if (::getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < written()) {
    return ErrnoStatus(EFBIG, kWhat);
  }
  std::span<const uint8_t> left = buffer_;
  while (!left.empty()) {
    const ssize_t written = ::write(file_.get(), left.data(), left.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return ErrnoStatus(errno, kWhat);
    left = left.subspan(static_cast<size_t>(written));
  }
  buffered_from_ += buffer_.size();
  buffer_.clear();
  return OkStatus();
}

Status SectionFile::Write(std::span<const uint8_t> bytes) {
  buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
  return buffer_.size() < kBuffer ? OkStatus() : Flush();
}

void SectionFile::EndSection() {
  if (headers_.size() > 1) headers_.back().sh_size = written() - headers_.back().sh_offset;
}

void SectionFile::Begin(std::string_view name) {
  EndSection();
  Elf64_Shdr header = {};
  header.sh_type = SHT_PROGBITS;
  header.sh_name = static_cast<uint32_t>(names_.size());
  header.sh_offset = written();
  header.sh_addralign = 1;
  headers_.push_back(header);
  names_.append(name).push_back('\0');
}

StatusOr<UniqueFd> SectionFile::Finish() {
  Begin(".shstrtab");
  headers_.back().sh_type = SHT_STRTAB;
  HBBP_RETURN_IF_ERROR(Write(AsBytes(names_.data(), names_.size())));
  EndSection();
  HBBP_RETURN_IF_ERROR(Write(std::vector<uint8_t>(-written() % alignof(Elf64_Shdr))));
  Elf64_Ehdr elf = {};
  std::memcpy(elf.e_ident, ELFMAG, SELFMAG);
  elf.e_ident[EI_CLASS] = ELFCLASS64;
  elf.e_ident[EI_DATA] = ELFDATA2LSB;
  elf.e_ident[EI_VERSION] = EV_CURRENT;
  elf.e_type = ET_EXEC;
  elf.e_machine = EM_X86_64;
  elf.e_version = EV_CURRENT;
  elf.e_ehsize = sizeof(elf);
  elf.e_shentsize = sizeof(Elf64_Shdr);
  elf.e_shoff = written();
  elf.e_shnum = static_cast<Elf64_Half>(headers_.size());
  elf.e_shstrndx = static_cast<Elf64_Half>(headers_.size() - 1);
  HBBP_RETURN_IF_ERROR(Write(AsBytes(headers_.data(), headers_.size() * sizeof(Elf64_Shdr))));
  HBBP_RETURN_IF_ERROR(Flush());
  if (::pwrite(file_.get(), &elf, sizeof(elf), 0) != static_cast<ssize_t>(sizeof(elf))) {
    return ErrnoStatus(errno, kWhat);
  }
  return std::move(file_);
}

}  // namespace hbbp
