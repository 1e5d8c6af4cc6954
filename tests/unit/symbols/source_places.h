// Where in the source the addresses of small programs are: what SourceLines finds, and what others
// do.
#ifndef HBBP_TESTS_UNIT_SYMBOLS_SOURCE_PLACES_H_
#define HBBP_TESTS_UNIT_SYMBOLS_SOURCE_PLACES_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/unique_fd.h"
#include "image/elf_image.h"
#include "symbols/source_lines.h"
#include "unit/image/test_programs.h"

namespace hbbp::test {

// Functions that are inlined into each other, into a template, and into two places of one function.
extern const std::string_view kNested;

struct Place {
  std::string function;
  std::string file;
  uint64_t line = 0;
};
using Places = std::vector<std::vector<Place>>;

struct Module {
  std::unique_ptr<ElfImage> image;
  UniqueFd fd;
  DebugTarget target;
};

Module OpenModule(const std::string& path);
StatusOr<std::unique_ptr<SourceLines>> OpenLines(const std::string& path,
                                                 const std::string& debug_root = "");

// Compiles C++ and links it into `output`; false if there is no such compiler.
bool BuildProgram(const TemporaryDirectory& folder, const std::string& compiler,
                  const std::string& flags, const std::string& output,
                  std::string_view source = kNested);

// Every third byte of every function: rows of a line table may begin anywhere.
std::vector<uint64_t> SomeAddresses(const std::string& path, size_t most);

std::vector<Place> Found(const SourceLines& lines, uint64_t address);
std::string Text(const std::vector<Place>& places);

// `command` reads addresses on stdin and answers as addr2line -a -i -f does.
std::optional<Places> Ask(const std::string& command, const std::vector<uint64_t>& addresses,
                          const TemporaryDirectory& folder);

// What addr2line is not to be believed: it gives the innermost function the name of the symbol
// around the address, and its line now and then the wrong file.
enum class Trust { kLines, kAll };

// How many of `addresses` are answered in the same way, of those whose line is known.
struct Agreement {
  size_t known = 0;
  size_t same = 0;
  size_t inlined = 0;
  std::string first_difference;
};

// The outermost function is left out: where it has symbols of its own for parts (".cold") or an
// alias, others take the symbol.
Agreement Compare(const SourceLines& lines, const std::vector<uint64_t>& addresses,
                  const Places& expected, Trust trust);

inline const std::string kAddr2line = "addr2line -a -i -f -e ";
inline const std::string kLlvmSymbolizer =
    "llvm-symbolizer-19 --addresses --inlines --no-demangle --output-style=GNU --obj=";

// Fails the test, or skips it if there is no `tool` (one of those above).
void ExpectAs(const std::string& tool, const SourceLines& lines, const std::string& debug_file,
              const std::string& module, const TemporaryDirectory& folder);

}  // namespace hbbp::test

#endif  // HBBP_TESTS_UNIT_SYMBOLS_SOURCE_PLACES_H_
