// Tests which rows of line tables are of functions that the linker dropped.
#include "symbols/line_sequences.h"

#include <dwarf.h>

#include <cstring>
#include <fstream>
#include <string>

#include "support/catch.h"
#include "unit/symbols/program_lines.h"

namespace hbbp {
namespace {

using test::Found;
using test::Line;
using test::Module;
using test::OpenLines;
using test::OpenModule;
using test::RunCommand;
using test::TemporaryDirectory;

using Rows = std::vector<SequenceRow>;
using Bytes = std::vector<uint8_t>;

template <typename T>
void Append(T value, Bytes* bytes) {
  const size_t end = bytes->size();
  bytes->resize(end + sizeof(value));
  std::memcpy(bytes->data() + end, &value, sizeof(value));
}

// Returns a table of DWARF 4 without files. The special opcode 20 goes on by 4 bytes.
constexpr uint8_t kFourBytes = 20;
Bytes Table(const Bytes& program) {
  Bytes rest;
  Append(uint16_t{4}, &rest);
  const Bytes header = {1, 1, 1, 0, 2, 12, 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 0, 0};
  Append(static_cast<uint32_t>(header.size()), &rest);
  rest.insert(rest.end(), header.begin(), header.end());
  rest.insert(rest.end(), program.begin(), program.end());
  Bytes table;
  Append(static_cast<uint32_t>(rest.size()), &table);
  table.insert(table.end(), rest.begin(), rest.end());
  return table;
}

// Appends a sequence of two rows, four bytes apart, that ends after eight.
void AddSequence(uint64_t start, Bytes* program) {
  program->insert(program->end(), {0, 9, DW_LNE_set_address});
  Append(start, program);
  program->insert(program->end(), {DW_LNS_copy, kFourBytes, DW_LNS_advance_pc, 4});
  program->insert(program->end(), {0, 1, DW_LNE_end_sequence});
}

TEST_CASE("sequences that begin where no code can be are of dropped functions") {
  Bytes program;
  AddSequence(0x1000, &program);
  AddSequence(0, &program);
  AddSequence(UINT64_MAX, &program);
  CHECK(ReadSequences(Table(program)) == Rows{{0, false, true},
                                              {3, false, true},
                                              {4, false, true},
                                              {7, true, true},
                                              {8, true, true},
                                              {0x1000, false, false},
                                              {0x1004, false, false},
                                              {0x1008, true, false},
                                              {UINT64_MAX, false, true}});
}

TEST_CASE("damaged line tables have no sequences") {
  Bytes program;
  AddSequence(0x1000, &program);
  const Bytes table = Table(program);
  REQUIRE(ReadSequences(table).size() == 3);
  for (size_t size = 0; size < table.size(); ++size) {
    CHECK(ReadSequences(std::span(table).first(size)).empty());
  }
  Bytes without_line_range = table;
  without_line_range[14] = 0;
  CHECK(ReadSequences(without_line_range).empty());
}

// The dropped function is longer than the address of live is high, with a row every few bytes, and
// so is the call that is inlined there.
TEST_CASE("Dropped functions give no lines to live ones at low addresses", "[line_table]") {
  constexpr int kLines = 2000;
  const TemporaryDirectory directory;
  const std::string library = directory.File("lib.so"), source = directory.File("dead.c");
  std::ofstream file(source);
  file << "__attribute__((visibility(\"default\"))) int live(int x) {\n"
          "  x += 2;\n"
          "  return x;\n"
          "}\n"
          "static inline __attribute__((always_inline)) int inlined(int x) {\n";
  for (int i = 0; i < kLines; ++i) file << "__asm__ volatile(\"addl $3, %0\" : \"+r\"(x));\n";
  file << "return x; }\n"
          "int dead(int x) { if (x > 3) x = inlined(x); return x + 1; }\n";
  file.close();
  const std::string compiler = GENERATE("gcc", "clang-14");
  const std::string linker = GENERATE("bfd", "gold", "lld");
  const std::string flags = GENERATE("-gdwarf-4", "-gdwarf-5", "-gdwarf-5 -gz");
  INFO(compiler + " " + linker + " " + flags);
  if (!RunCommand(compiler + " -O1 " + flags +
                  " -ffunction-sections -fvisibility=hidden -shared -fPIC -Wl,--gc-sections "
                  "-fuse-ld=" +
                  linker + " " + source + " -o " + library)) {
    HBBP_SKIP("no " + compiler + " or no " + linker);
  }
  const Module module = OpenModule(library);
  REQUIRE_FALSE(module.image->AddressOfSymbol("dead"));
  const ModuleAddress live = *module.image->AddressOfSymbol("live");
  const auto lines = OpenLines(library);
  REQUIRE(lines.ok());
  const std::optional<AddressRange> range = module.image->FunctionAround(live);
  REQUIRE(range);
  for (ModuleAddress at = range->start; at < range->end; at = at + 1) {
    const std::vector<Line> found = Found(**lines, at.value);
    REQUIRE(found.size() == 1);
    CHECK(found[0].function == "live");
    CHECK(found[0].line <= 4);
  }
  CHECK((*lines)->Find({4}).frames.empty());
  CHECK((*lines)->Problem() == "");
}

}  // namespace
}  // namespace hbbp
