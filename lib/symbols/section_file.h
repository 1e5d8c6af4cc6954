// SectionFile writes an ELF file that has only sections, for libdw to read.
#ifndef HBBP_LIB_SYMBOLS_SECTION_FILE_H_
#define HBBP_LIB_SYMBOLS_SECTION_FILE_H_

#include <elf.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "base/unique_fd.h"

namespace hbbp {

class SectionFile {
 public:
  // `file` has to be empty.
  explicit SectionFile(UniqueFd file) : file_(std::move(file)) {}

  // Starts a section, to which the following writes belong.
  void Begin(std::string_view name);
  // Returns kIo or kNoMemory.
  Status Write(std::span<const uint8_t> bytes);
  uint64_t written() const { return buffered_from_ + buffer_.size(); }
  StatusOr<UniqueFd> Finish();

 private:
  Status Flush();
  void EndSection();

  UniqueFd file_;
  std::vector<Elf64_Shdr> headers_ = std::vector<Elf64_Shdr>(1);
  std::string names_ = std::string(1, '\0');
  std::vector<uint8_t> buffer_ = std::vector<uint8_t>(sizeof(Elf64_Ehdr));
  uint64_t buffered_from_ = 0;
};

}  // namespace hbbp

#endif  // HBBP_LIB_SYMBOLS_SECTION_FILE_H_
