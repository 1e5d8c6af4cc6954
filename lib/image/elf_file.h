// ElfFile gives the headers and sections of an x86-64 ELF file, by libelf.
#ifndef HBBP_LIB_IMAGE_ELF_FILE_H_
#define HBBP_LIB_IMAGE_ELF_FILE_H_

#include <elf.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "image/file_bytes.h"

struct Elf;

namespace hbbp {

struct ElfSection {
  std::string_view name;  // valid for the life of the ElfFile
  Elf64_Shdr header;

  bool IsCode() const {
    return (header.sh_flags & (SHF_ALLOC | SHF_EXECINSTR)) == (SHF_ALLOC | SHF_EXECINSTR) &&
           header.sh_type != SHT_NOBITS;
  }
};

// kProgram accepts what can run; kAny also accepts what only other files refer to (ET_REL).
enum class ElfKind { kProgram, kAny };

class ElfFile {
 public:
  // Messages begin with `name`. Returns kBadFormat if the file is not of that kind or not for
  // x86-64.
  static StatusOr<std::unique_ptr<ElfFile>> Create(std::unique_ptr<FileBytes> bytes,
                                                   const std::string& name,
                                                   ElfKind kind = ElfKind::kProgram);
  ~ElfFile();

  const FileBytes& bytes() const { return *bytes_; }
  const std::vector<Elf64_Phdr>& segment_headers() const { return segment_headers_; }
  // Returns all sections; the index is the one in sh_link and st_shndx.
  const std::vector<ElfSection>& sections() const { return sections_; }
  // Both return null if there is no such section.
  const ElfSection* FindSection(std::string_view name) const;
  const ElfSection* FindSectionOfType(uint32_t type) const;

  // Reads the section at the first call. Returns nothing if it cannot be read or has no bytes in
  // the file. The result is valid for the life of this object.
  std::span<const uint8_t> SectionBytes(const ElfSection& section) const;
  // Returns SectionBytes of the section that sh_link refers to.
  std::span<const uint8_t> LinkedSectionBytes(const ElfSection& section) const;

 private:
  ElfFile(std::unique_ptr<FileBytes> bytes, Elf* elf);
  void LoadSegmentHeaders();
  void LoadSections();

  std::unique_ptr<FileBytes> bytes_;
  Elf* elf_;
  std::vector<Elf64_Phdr> segment_headers_;
  std::vector<ElfSection> sections_;
};

// The longest mangled names that compilers emit have some ten thousand characters.
inline constexpr uint64_t kMaxNameSize = 64 * 1024;

// Returns the string at `offset`, cut at kMaxNameSize in a table that does not terminate it.
std::string_view StringAt(std::span<const uint8_t> table, uint64_t offset);

}  // namespace hbbp

#endif  // HBBP_LIB_IMAGE_ELF_FILE_H_
