#include "image/program_headers.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace hbbp {
namespace {

bool IsX8664Image(const Elf64_Ehdr& header) {
  return std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 &&
         header.e_ident[EI_CLASS] == ELFCLASS64 && header.e_ident[EI_DATA] == ELFDATA2LSB &&
         header.e_machine == EM_X86_64 && header.e_phentsize == sizeof(Elf64_Phdr);
}

}  // namespace

std::vector<Elf64_Phdr> ReadProgramHeaders(const ImageReader& reader) {
  Elf64_Ehdr header;
  if (reader(0, {reinterpret_cast<uint8_t*>(&header), sizeof(header)}) != sizeof(header) ||
      !IsX8664Image(header)) {
    return {};
  }
  std::vector<Elf64_Phdr> segments(header.e_phnum);
  size_t table_size = segments.size() * sizeof(Elf64_Phdr);
  size_t got = reader(header.e_phoff, {reinterpret_cast<uint8_t*>(segments.data()), table_size});
  segments.resize(std::min(got, table_size) / sizeof(Elf64_Phdr));
  return segments;
}

ImageReader ReaderOfFd(int fd) {
  return [fd](uint64_t position, std::span<uint8_t> buffer) {
    size_t used = 0;
    while (used < buffer.size()) {
      ssize_t got = ::pread(fd, buffer.data() + used, buffer.size() - used,
                            static_cast<off_t>(position + used));
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) break;
      used += static_cast<size_t>(got);
    }
    return used;
  };
}

}  // namespace hbbp
