// Programs that tests build with the system compiler, and tools to compare with.
#ifndef HBBP_TESTS_UNIT_IMAGE_TEST_PROGRAMS_H_
#define HBBP_TESTS_UNIT_IMAGE_TEST_PROGRAMS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hbbp::test {

// A directory that goes away with the object.
class TemporaryDirectory {
 public:
  TemporaryDirectory();
  ~TemporaryDirectory();
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  std::string File(std::string_view name) const;

 private:
  std::string path_;
};

// What `command` prints, by lines; nothing if it fails.
std::optional<std::vector<std::string>> RunCommand(const std::string& command);

// Compiles `source` (C++ with g++, assembly with "-x assembler" among the flags) into `output`.
// False where there is no compiler, or it cannot do that.
bool Compile(const TemporaryDirectory& directory, std::string_view source, const std::string& flags,
             const std::string& output);

// Functions with and without a .cold part, exceptions, a static function, calls through the PLT.
extern const std::string_view kProgram;

std::vector<uint8_t> ReadAll(const std::string& path);

// As they are in the file, which may be compressed; nothing if there is no such section.
std::optional<std::vector<uint8_t>> BytesOfSection(const std::string& path,
                                                   const std::string& section);

// What a section of an ELF file is to become. Headers may claim more than the file has.
struct SectionChange {
  std::string name;
  std::vector<uint8_t> bytes;
  uint64_t claimed_size = 0;  // 0: that of `bytes`
};

// Writes the bytes to the end of the file, uncompressed. False if there is no such section.
bool ChangeSection(const std::string& path, const SectionChange& change);

// Files of the recordings directory; empty if there are none.
std::vector<std::string> RecordedBinaries();

std::string ToHex(const std::vector<uint8_t>& bytes);

}  // namespace hbbp::test

#endif  // HBBP_TESTS_UNIT_IMAGE_TEST_PROGRAMS_H_
