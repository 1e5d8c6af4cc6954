// Builds the programs of tests with the system compiler, and runs tools to compare with.
#ifndef HBBP_TESTS_UNIT_IMAGE_TEST_PROGRAMS_H_
#define HBBP_TESTS_UNIT_IMAGE_TEST_PROGRAMS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hbbp::test {

// The directory is removed with the object.
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

// Returns what `command` prints, by lines, or nothing if it fails.
std::optional<std::vector<std::string>> RunCommand(const std::string& command);

// Compiles `source` (C++ with g++, assembly with "-x assembler" among the flags) into `output`.
// Returns false where there is no compiler, or it cannot do that.
bool Compile(const TemporaryDirectory& directory, std::string_view source, const std::string& flags,
             const std::string& output);

// The program has functions with and without a .cold part, exceptions, a static function, and calls
// through the PLT.
extern const std::string_view kProgram;

std::vector<uint8_t> ReadAll(const std::string& path);

// Returns the bytes in the file, which may be compressed, or nothing if there is no such section.
std::optional<std::vector<uint8_t>> BytesOfSection(const std::string& path,
                                                   const std::string& section);

// The new contents of a section of an ELF file. Headers may claim more than the file has.
struct SectionChange {
  std::string name;
  std::vector<uint8_t> bytes;
  uint64_t claimed_size = 0;  // 0: that of `bytes`
};

// Writes the bytes to the end of the file, uncompressed. Returns false if there is no such section.
bool ChangeSection(const std::string& path, const SectionChange& change);

// Returns the files of the recordings directory, or nothing if there are none.
std::vector<std::string> RecordedBinaries();

std::string ToHex(const std::vector<uint8_t>& bytes);

}  // namespace hbbp::test

#endif  // HBBP_TESTS_UNIT_IMAGE_TEST_PROGRAMS_H_
