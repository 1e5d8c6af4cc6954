// ElfFile: headers and sections of an x86-64 ELF file, by libelf.
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

// What a file may be: something that runs, or also what only other files refer to (ET_REL).
enum class ElfKind { kProgram, kAny };

class ElfFile {
 public:
  // `name` begins every message. kBadFormat for what is no file of that kind for x86-64.
  static StatusOr<std::unique_ptr<ElfFile>> Create(std::unique_ptr<FileBytes> bytes,
                                                   const std::string& name,
                                                   ElfKind kind = ElfKind::kProgram);
  ~ElfFile();

  const FileBytes& bytes() const { return *bytes_; }
  const std::vector<Elf64_Phdr>& segment_headers() const { return segment_headers_; }
  // The index is the one that sh_link and st_shndx mean.
  const std::vector<ElfSection>& sections() const { return sections_; }
  // Null if there is none.
  const ElfSection* FindSection(std::string_view name) const;
  const ElfSection* FindSectionOfType(uint32_t type) const;

  // Reads the section at the first call. Empty if it cannot be read or has nothing in the file.
  // Valid for the life of this object.
  std::span<const uint8_t> SectionBytes(const ElfSection& section) const;
  // The same of the section that sh_link names.
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

// The string at `offset`, cut where a table without end would make it longer than any name is.
std::string_view StringAt(std::span<const uint8_t> table, uint64_t offset);

}  // namespace hbbp

#endif  // HBBP_LIB_IMAGE_ELF_FILE_H_
