// Tests the formats of BOLT with a library of known instructions, and streams through it:
//
//    outer:  0  test edi, edi        1000 go by the jump at 4, 500 by the call at 6. The jump
//            2  je 6                 and the branch before it are one block to llvm-bolt; what
//            4  jmp b                the call returns to is another one, as the jump goes there.
//            6  call step
//            b  ret
//    step:   c  ret
//    (another) step, a byte further on: nop, ret; and functions without a size
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include "export/bolt_functions.h"
#include "export/exporter.h"
#include "support/analyze_or_fail.h"
#include "support/export_or_fail.h"
#include "support/temporary_folder.h"
#include "unit/profile/sample_profiles.h"
#include "unit/profile/tiny_profile.h"

namespace hbbp {
namespace {

constexpr char kOuter[] = R"(
  .text
  .globl outer
  .type outer, @function
outer:
  .cfi_startproc
  testl %edi, %edi
  je 1f
  jmp 2f
1:call step
2:ret
  .cfi_endproc
  .size outer, . - outer
  .type step, @function
step:
  .cfi_startproc
  ret
  .cfi_endproc
  .size step, . - step
  nop
  .section .note.GNU-stack, "", @progbits
)";
constexpr char kOther[] = R"(
  .text
  .type step, @function
step:
  nop
  ret
  .size step, . - step
  .type unsized, @function
unsized:
  nop
  .type next, @function
next:
  ret
label:
  ret
  .section .note.GNU-stack, "", @progbits
)";
constexpr uint64_t kStep = 0xc;
constexpr uint64_t kOtherStep = 0xe;

bool BuildLibrary(const std::string& path) {
  std::ofstream(path + ".1.s") << kOuter;
  std::ofstream(path + ".2.s") << kOther;
  return RunCommand("cc -shared -nostdlib -o " + path + " " + path + ".1.s " + path + ".2.s");
}

// Returns the offset in the file of `outer`; ld gives it the same address.
uint64_t OuterOffset(const std::string& path) {
  const uint8_t code[] = {0x85, 0xff, 0x74, 0x02, 0xeb, 0x05, 0xe8};
  const std::vector<uint8_t> file = BytesOfFile(path);
  const auto found = std::search(file.begin(), file.end(), std::begin(code), std::end(code));
  REQUIRE(found != file.end());
  return static_cast<uint64_t>(found - file.begin());
}

std::string Hex(uint64_t number) {
  char text[17];
  std::snprintf(text, sizeof(text), "%lx", static_cast<unsigned long>(number));
  return text;
}

ProfileData StreamsOf(const std::string& path) {
  const uint64_t outer = OuterOffset(path);
  ProfileData data = TinyProfile(path);
  data.counts.clear();
  data.sources.resize(1);
  data.sources[0].kind = SourceKind::kSwbt;
  const auto add = [&](uint32_t from_module, uint64_t from, uint32_t to_module, uint64_t to,
                       uint64_t end, uint64_t count) {
    data.branches.push_back(
        MakeBranch(0, 0, from_module, from, to_module, to, end, count / 250, kTinyPeriod));
  };
  const uint64_t outside = 0x1234;
  add(kNoModule, outside, 0, outer, outer + 4, 1000);
  add(0, outer + 4, 0, outer + 0xb, outer + 0xb, 1000);
  add(kNoModule, outside, 0, outer, outer + 2, 500);
  add(0, outer + 2, 0, outer + 6, outer + 6, 500);
  add(0, outer + 6, 0, outer + kStep, outer + kStep, 500);
  add(0, outer + kStep, 0, outer + 0xb, outer + 0xb, 500);
  add(0, outer + 0xb, kNoModule, outside, outside + 1, 1500);
  Normalize(&data.branches);
  return data;
}

TEST_CASE("fdata has branches by function, and ways from block to block as BOLT divides them") {
  const TemporaryFolder directory;
  const std::string path = directory.File("lib.so");
  if (!BuildLibrary(path)) HBBP_SKIP("there is no compiler");
  const Exported exported = ExportOrFail(kBoltExporter, AnalyzeOrFail(StreamsOf(path)));
  CHECK(exported.notes.empty());
  CHECK(exported.text ==
        "0 [unknown] 0 1 outer 0 0 1500\n"
        "1 outer 2 1 outer 6 0 500\n"
        "1 outer 4 1 outer b 0 1000\n"
        "1 outer 6 1 step/1 0 0 500\n"
        "1 outer b 0 [unknown] 0 0 1500\n"
        "1 step/1 0 1 outer b 0 500\n"
        "1 outer 6 1 outer b 0 500\n");
}

TEST_CASE("for perf2bolt, streams are marked that may follow a call") {
  const TemporaryFolder directory;
  const std::string path = directory.File("lib.so");
  if (!BuildLibrary(path)) HBBP_SKIP("there is no compiler");
  const Exported exported = ExportOrFail(kBoltAggregatedExporter, AnalyzeOrFail(StreamsOf(path)));
  CHECK(exported.notes.empty());
  const auto at = [outer = OuterOffset(path)](uint64_t offset) { return Hex(outer + offset); };
  CHECK(exported.text == "B X:0 " + at(0) + " 1500 0\n" +                     //
                             "B " + at(2) + " " + at(6) + " 500 0\n" +        //
                             "B " + at(4) + " " + at(0xb) + " 1000 0\n" +     //
                             "B " + at(6) + " " + at(kStep) + " 500 0\n" +    //
                             "B " + at(0xb) + " X:0 1500 0\n" +               //
                             "B " + at(kStep) + " " + at(0xb) + " 500 0\n" +  //
                             "f " + at(0) + " " + at(2) + " 500\n" +          //
                             "f " + at(0) + " " + at(4) + " 1000\n" +         //
                             "F " + at(6) + " " + at(6) + " 500\n" +          //
                             "F " + at(0xb) + " " + at(0xb) + " 1000\n" +     //
                             "f " + at(0xb) + " " + at(0xb) + " 500\n" +      //
                             "F " + at(kStep) + " " + at(kStep) + " 500\n");
}

TEST_CASE("streams that the code does not explain are left out, and reported") {
  const TemporaryFolder directory;
  const std::string path = directory.File("lib.so");
  if (!BuildLibrary(path)) HBBP_SKIP("there is no compiler");
  ProfileData data = StreamsOf(path);
  const uint64_t outer = OuterOffset(path);
  // It passes a return.
  data.branches.push_back(
      MakeBranch(0, 0, 0, outer + 4, 0, outer + 0xb, outer + kStep, 2, kTinyPeriod));
  Normalize(&data.branches);
  const Exported exported = ExportOrFail(kBoltAggregatedExporter, AnalyzeOrFail(std::move(data)));
  REQUIRE(exported.notes.size() == 1);
  CHECK(exported.notes[0].starts_with("11.1 % of the streams are left out: "));
  CHECK(exported.text.find(" " + Hex(outer + 0xb) + " " + Hex(outer + kStep)) == std::string::npos);
}

TEST_CASE("functions have the names that BOLT gives them") {
  const TemporaryFolder directory;
  const std::string path = directory.File("lib.so");
  if (!BuildLibrary(path)) HBBP_SKIP("there is no compiler");
  const auto name = [&path](uint64_t offset) {
    const auto image = ElfImage::Open(path);
    REQUIRE(image.ok());
    const auto functions = BoltFunctions::Create(**image, path);
    REQUIRE(functions.ok());
    const BoltFunctions::Function* found = (*functions)->Find({OuterOffset(path) + offset});
    return found == nullptr ? std::string() : found->name;
  };
  CHECK(name(0) == "outer");
  CHECK(name(0xb) == "outer");
  CHECK(name(kStep) == "step/1");
  CHECK(name(kStep + 1).empty());
  CHECK(name(kOtherStep) == "step/2");
  CHECK(name(kOtherStep + 1) == "step/2");
  CHECK(name(kOtherStep + 2) == "unsized/1");
  CHECK(name(kOtherStep + 3) == "next/1");
  CHECK(name(kOtherStep + 4) == "label/1");
  CHECK(name(kOtherStep + 5).empty());

  if (!RunCommand("strip " + path)) HBBP_SKIP("there is no strip");
  CHECK(name(0) == "__BOLT_FDE_FUNCat" + Hex(OuterOffset(path)));
  CHECK(name(kStep) == "__BOLT_FDE_FUNCat" + Hex(OuterOffset(path) + kStep));
}

TEST_CASE("the head of a procedure linkage table has the name that BOLT gives it") {
  const TemporaryFolder directory;
  const std::string path = directory.File("lib.so"), source = path + ".s";
  std::ofstream(source) << ".globl calls\n.type calls, @function\ncalls:\n call other@plt\n ret\n"
                           ".size calls, .-calls\n";
  const std::string build = "cc -shared -nostdlib -Wl,-z,lazy -o " + path + " " + source;
  const std::string find = "readelf -SW " + path +
                           " | sed -n 's/.* \\.plt  *PROGBITS  *\\([0-9a-f]*\\) .*/\\1/p' > " +
                           path + ".address";
  if (!RunCommand(build) || !RunCommand(find)) HBBP_SKIP("there is no compiler");
  uint64_t start = 0;
  std::ifstream(path + ".address") >> std::hex >> start;
  REQUIRE(start != 0);
  const auto image = ElfImage::Open(path);
  REQUIRE(image.ok());
  const auto functions = BoltFunctions::Create(**image, path);
  REQUIRE(functions.ok());
  const auto name = [&](uint64_t address) {
    const BoltFunctions::Function* found = (*functions)->Find({address});
    return found == nullptr ? std::string() : found->name;
  };
  CHECK(name(start) == "__BOLT_PSEUDO_.plt");
  CHECK(name(start + 6) == "__BOLT_PSEUDO_.plt");
  CHECK(name(start + 16) == "other@PLT");
}

TEST_CASE("without streams there are counts of blocks, but nothing for perf2bolt") {
  const TemporaryFolder directory;
  const std::string path = directory.File("lib.so");
  if (!BuildTinyLibrary(path)) HBBP_SKIP("there is no compiler");
  const Analysis analysis = AnalyzeOrFail(TinyProfile(path));
  const Exported exported = ExportOrFail(kBoltExporter, analysis);
  REQUIRE(exported.notes.size() == 1);
  CHECK(exported.notes[0].find("no_lbr") != std::string::npos);
  CHECK(exported.text == "no_lbr\n1 tiny_work 0 2000\n1 tiny_work 7 6000\n1 tiny_twice 0 333\n");

  Exported aggregated;
  const Status status = ExportTo(kBoltAggregatedExporter, analysis, &aggregated);
  CHECK(status.code() == StatusCode::kNotFound);
  CHECK(status.message().find("no branches were observed in " + path) != std::string::npos);
}

TEST_CASE("functions cannot be named without the file") {
  const TemporaryFolder directory;
  const std::string path = directory.File("lib.so");
  if (!BuildLibrary(path)) HBBP_SKIP("there is no compiler");
  ProfileData data = StreamsOf(path);
  data.modules.emplace_back();
  data.modules[1].kind = ModuleKind::kAnonymous;
  data.modules[1].chunks = {{0x7000, {0x90, 0xc3}}};
  data.sources.push_back(TinyProfile(path).sources[0]);
  data.counts.push_back(MakeCount(1, 1, 0, 0x7000, 2, kTinyPeriod));
  std::filesystem::remove(path);
  const Analysis analysis = AnalyzeOrFail(std::move(data));
  Exported exported;
  const Status missing = ExportTo(kBoltExporter, analysis, &exported, 0);
  CHECK(missing.code() == StatusCode::kNotFound);
  CHECK(missing.message().find("no block of " + path + " (") != std::string::npos);
  const Status anonymous = ExportTo(kBoltExporter, analysis, &exported, 1);
  CHECK(anonymous.code() == StatusCode::kNotFound);
  CHECK(anonymous.message().find("is not a file") != std::string::npos);
}

TEST_CASE("what only samples saw is not in the branches, and reported") {
  const TemporaryFolder directory;
  const std::string path = directory.File("lib.so");
  if (!BuildLibrary(path)) HBBP_SKIP("there is no compiler");
  ProfileData data = StreamsOf(path);
  data.sources.push_back(TinyProfile(path).sources[0]);
  data.counts = {MakeCount(0, 1, 0, OuterOffset(path) + kOtherStep, 1000, kTinyPeriod)};
  AnalysisOptions options;
  options.estimator.kind = EstimatorKind::kEbs;
  const Analysis analysis = AnalyzeOrFail(std::move(data), options);
  for (const Exporter* exporter : {&kBoltExporter, &kBoltAggregatedExporter}) {
    const Exported exported = ExportOrFail(*exporter, analysis);
    REQUIRE(exported.notes.size() == 1);
    CHECK(exported.notes[0].find("only samples") != std::string::npos);
    CHECK(exported.text == ExportOrFail(*exporter, AnalyzeOrFail(StreamsOf(path))).text);
  }
}

}  // namespace
}  // namespace hbbp
