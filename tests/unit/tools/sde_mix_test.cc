#include "truth/sde_mix.h"

#include <string>

#include "support/catch.h"
#include "truth/sde_mix_modules.h"

namespace hbbp::tools {
namespace {

constexpr char kImages[] =
    "# Mix output version 10\n# EMIT_IMAGE_ADDRESSES\n"
    "/opt/a program  0000000000400000  0000000000404fff\n"
    "/usr/lib/libc.so.6  00007ffff7c00000  00007ffff7dfffff\n"
    "# END_IMAGE_ADDRESSES\n";

std::string Blocks(const std::string& lines, int thread = 0) {
  return "# EMIT_TOP_BLOCK_STATS FOR TID " + std::to_string(thread) + " EMIT # 1\n" + lines +
         "# END_TOP_BLOCK_STATS\n";
}

std::string Totals(const std::string& count) {
  return "# EMIT_DYNAMIC_STATS FOR TID 0 EMIT #1\n# $dynamic-counts\n*total   " + count +
         "\n# END_DYNAMIC_STATS\n";
}

std::string Failure(const std::string& text) {
  const auto mix = ParseSdeMix(text, "mix.txt");
  REQUIRE_FALSE(mix.ok());
  CHECK(mix.status().code() == StatusCode::kBadFormat);
  return mix.status().message();
}

bool Contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

const std::string kLoop =
    "BLOCK:     0   PC: 0000000000401005   ICOUNT:      3000   EXECUTIONS:      1000   "
    "#BYTES: 8   %:  97.3   cumltv%:  97.3  FN: loop PC: 7\n";
const std::string kDisassembly =
    "XDIS 0000000000401005: BASE 4883C001   add rax, 0x1\n"
    "XDIS 0000000000401009: BASE FFC9       dec ecx\n"
    "XDIS 000000000040100b: BASE 75F4       jnz 0x401005\n";

TEST_CASE("SDE: blocks of all threads, with and without disassembly") {
  const auto mix = ParseSdeMix(
      kImages + Blocks(kLoop + kDisassembly + "\n") +
          Blocks("BLOCK: 1 PC: 7ffff7c20000 ICOUNT: 30 EXECUTIONS: 10\n", 1) + Totals("3030"),
      "mix.txt");
  INFO(mix.status().message());
  REQUIRE(mix.ok());
  CHECK(mix->threads == 2);
  REQUIRE(mix->images.size() == 2);
  CHECK(mix->images[0].path == "/opt/a program");
  CHECK(mix->images[0].low == 0x400000);
  REQUIRE(mix->blocks.size() == 2);
  CHECK(mix->blocks[0].address == 0x401005);
  CHECK(mix->blocks[0].executions == 1000);
  CHECK(mix->blocks[0].instruction_count == 3);
  CHECK(mix->blocks[0].instructions == std::vector<uint64_t>{0x401005, 0x401009, 0x40100b});
  CHECK(mix->blocks[1].instruction_count == 3);
  CHECK(mix->blocks[1].instructions.empty());
  CHECK(mix->block_instructions == 3030);
  CHECK(mix->total_instructions == 3030);
}

TEST_CASE("SDE: counts go to the addresses of the module, and what is in no image is separate") {
  const auto mix = ParseSdeMix(kImages + Blocks(kLoop + kDisassembly + kLoop + kDisassembly +
                                                "BLOCK: 2 PC: 900000 ICOUNT: 12 EXECUTIONS: 4\n"),
                               "mix.txt");
  REQUIRE(mix.ok());
  ModuleImages images({});
  const auto counts = CountsFromSdeMix(*mix, "mix.txt", &images);
  REQUIRE(counts.ok());
  REQUIRE(counts->size() == 2);
  CHECK(counts->at(0).path == "/opt/a program");
  REQUIRE(counts->at(0).counts.size() == 3);
  CHECK(counts->at(0).counts[1].address == 0x1009);
  CHECK(counts->at(0).counts[1].count == 2000);
  CHECK(counts->at(1).path == "???");
  CHECK(counts->at(1).counts[0].count == 12);
}

TEST_CASE("SDE: the hottest blocks alone are refused") {
  const auto mix = ParseSdeMix(kImages + Blocks(kLoop) + Totals("6000"), "mix.txt");
  REQUIRE(mix.ok());
  ModuleImages images({});
  const auto counts = CountsFromSdeMix(*mix, "mix.txt", &images);
  REQUIRE_FALSE(counts.ok());
  CHECK(Contains(counts.status().message(), "only 50.00 % of its instructions are in blocks"));
  CHECK(Contains(counts.status().message(), "-top_blocks"));
}

TEST_CASE("SDE: what is wrong is named with its line") {
  const auto block = [](const std::string& line) { return kImages + Blocks(line); };
  CHECK(Contains(Failure(block("BLOCK: 0 PC: 1 ICOUNT: -3 EXECUTIONS: 1\n")),
                 "mix.txt: line 7: a negative count"));
  CHECK(Contains(Failure(block("BLOCK: 0 PC: 1 ICOUNT: nan EXECUTIONS: 1\n")), "not a number"));
  CHECK(Contains(Failure(block("BLOCK: 0 PC: 1 ICOUNT: 9223372036854775809 EXECUTIONS: 1\n")),
                 "above 2^63"));
  CHECK(Contains(Failure(block("BLOCK: 0 PC: 1 ICOUNT: 7 EXECUTIONS: 2\n")), "not a multiple"));
  CHECK(Contains(Failure(block("BLOCK: 0 PC: 1 ICOUNT: 7 EXECUTIONS: 0\n")), "never ran"));
  CHECK(Contains(Failure(block("BLOCK: 0 PC: 1 ICOUNT: 0 EXECUTIONS: 5\n")), "no instructions"));
  CHECK(Contains(Failure(block("BLOCK: 0 PC: xyz ICOUNT: 1 EXECUTIONS: 1\n")), "hexadecimal"));
  CHECK(Contains(Failure(block("BLOCK: 0 ICOUNT: 1 EXECUTIONS: 1\n")), "without PC:"));
  CHECK(Contains(Failure(block("BLOCK: 0 PC: 1 ICOUNT: 70000 EXECUTIONS: 1\n")),
                 "more instructions than code has"));
  CHECK(Contains(Failure(block(kLoop + "XDIS 401005: x\n")), "fewer instructions than ICOUNT:"));
  CHECK(Contains(Failure(block(kLoop + "XDIS 401006: x\n")), "not in its block"));
  CHECK(Contains(Failure(block(kLoop + kDisassembly + "XDIS 40100d: x\n")),
                 "more instructions than ICOUNT:"));
  CHECK(Contains(Failure(kImages + std::string("# EMIT_TOP_BLOCK_STATS FOR TID 0\n")),
                 "ends within a section"));
  CHECK(Contains(Failure("# Mix output version 10\n"), "no section EMIT_TOP_BLOCK_STATS"));
  CHECK(Contains(Failure(Blocks(kLoop)), "no table EMIT_IMAGE_ADDRESSES"));
}

TEST_CASE("SDE: overlapping images are refused") {
  const std::string message =
      Failure("# EMIT_IMAGE_ADDRESSES\n/a 1000 1fff\n/b 1800 2800\n# END_IMAGE_ADDRESSES\n" +
              Blocks(kLoop));
  CHECK(Contains(message, "images overlap: /a ends at 1fff, /b starts at 1800"));
}

}  // namespace
}  // namespace hbbp::tools
