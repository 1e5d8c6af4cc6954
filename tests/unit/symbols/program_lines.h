// Reads the lines of small programs by LineTable and by other tools, and compares them.
#ifndef HBBP_TESTS_UNIT_SYMBOLS_PROGRAM_LINES_H_
#define HBBP_TESTS_UNIT_SYMBOLS_PROGRAM_LINES_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/unique_fd.h"
#include "image/elf_image.h"
#include "symbols/line_table.h"
#include "unit/image/test_programs.h"

namespace hbbp::test {

// The program has functions that are inlined into each other, into a template, and twice into one
// function.
extern const std::string_view kNested;

struct Line {
  std::string function;
  std::string file;
  uint64_t line = 0;
};
using Answers = std::vector<std::vector<Line>>;

struct Module {
  std::unique_ptr<ElfImage> image;
  UniqueFd fd;
  DebugTarget target;
};

Module OpenModule(const std::string& path);
StatusOr<std::unique_ptr<LineTable>> OpenLines(const std::string& path,
                                               const std::string& debug_root = "");

// Compiles C++ and links it into `output`. Returns false if there is no such compiler.
bool BuildProgram(const TemporaryDirectory& directory, const std::string& compiler,
                  const std::string& flags, const std::string& output,
                  std::string_view source = kNested);

// Returns every third byte of every function: rows of a line table may begin anywhere.
std::vector<uint64_t> SomeAddresses(const std::string& path, size_t limit);

std::vector<Line> Found(const LineTable& table, uint64_t address);
std::string Text(const std::vector<Line>& lines);

// Runs `command`, which reads addresses on stdin and prints as addr2line -a -i -f does.
std::optional<Answers> Ask(const std::string& command, const std::vector<uint64_t>& addresses,
                           const TemporaryDirectory& directory);

// addr2line names the innermost function by the symbol around the address, and sometimes gives its
// line the wrong file; kLines ignores both.
enum class Trust { kLines, kAll };

// Counts the addresses with a known line, and those of them for which both results are the same.
struct Agreement {
  size_t known = 0;
  size_t same = 0;
  size_t inlined = 0;
  std::string first_difference;
};

// The outermost function is ignored: where it has symbols of its own for parts (".cold") or an
// alias, other tools print the symbol.
Agreement Compare(const LineTable& table, const std::vector<uint64_t>& addresses,
                  const Answers& expected, Trust trust);

inline const std::string kAddr2line = "addr2line -a -i -f -e ";
inline const std::string kLlvmSymbolizer =
    "llvm-symbolizer-19 --addresses --inlines --no-demangle --output-style=GNU --obj=";

// Fails the test if results differ, or skips it if there is no `tool` (one of those above).
void ExpectAs(const std::string& tool, const LineTable& table, const std::string& debug_file,
              const std::string& module, const TemporaryDirectory& directory);

}  // namespace hbbp::test

#endif  // HBBP_TESTS_UNIT_SYMBOLS_PROGRAM_LINES_H_
