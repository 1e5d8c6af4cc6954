// Tests profiles by lines: discriminators, locations, inlined calls, totals.
#include "export/sample_profile.h"

#include <fstream>
#include <string>

#include "export/exporter.h"
#include "image/elf_image.h"
#include "support/analyze_or_fail.h"
#include "support/export_or_fail.h"
#include "support/temporary_folder.h"
#include "unit/export/inlined_code.h"
#include "unit/profile/tiny_profile.h"

namespace hbbp {
namespace {

TEST_CASE("discriminators are split as LLVM encodes them") {
  CHECK(Split(0).base == 0);
  CHECK(Split(0).copies == 1);
  CHECK(Split(2).base == 1);  // one part of 7 bits
  CHECK(Split(31 << 1).base == 31);
  // 32 is more than 5 bits: 14 bits.
  CHECK(Split((0x20 | ((32 & 0xfe0) << 1)) << 1).base == 32);
  CHECK(Split((0x20 | ((100 & 0xfe0) << 1) | (100 & 0x1f)) << 1).base == 100);
  // No base, four copies.
  CHECK(Split(1 | (4 << 1) << 1).base == 0);
  CHECK(Split(1 | (4 << 1) << 1).copies == 4);
  // Base 3, four copies.
  CHECK(Split((3 << 1) | (4 << 1) << 7).base == 3);
  CHECK(Split((3 << 1) | (4 << 1) << 7).copies == 4);
}

// looping begins with its loop, whose jump is at `again`; at `calls` is a call of it.
bool BuildLoopAtStart(const TemporaryFolder& directory, const std::string& library) {
  const std::string source = directory.File("loop.c");
  std::ofstream(source) << R"(
__attribute__((visibility("hidden"))) void looping(int n) {
  __asm__ volatile("1: decl %0\nagain: jnz 1b" : "+r"(n));
}
void calling(void) { __asm__ volatile("calls: call looping"); }
)";
  return RunCommand("cc -shared -fPIC -O1 -g -fcf-protection=none -Wl,--build-id -o " + library +
                    " " + source);
}

TEST_CASE("lines count from the function's own, and inlined calls are inside of it") {
  const TemporaryFolder directory;
  const std::string path = directory.File("lib.so");
  if (!BuildInlinedCode(directory, path)) HBBP_SKIP("there is no compiler");
  const Analysis analysis = AnalyzeOrFail(InlinedProfile(path));
  REQUIRE(analysis.blocks().size() == 1);
  const double count = analysis.blocks()[0].estimate.count;

  const LineTableCache lines(analysis.shared_modules());
  const SampleProfile profile = MakeSampleProfile({analysis, lines});
  REQUIRE(profile.functions.size() == 1);
  const SampledFunction& found = profile.functions.at("outer");
  CHECK(found.total == Approx(count * analysis.blocks()[0].block.instruction_count));
  for (const auto& [location, line] : found.lines) CHECK(line.count == Approx(count));
  CHECK(found.lines.count({1, 0}) == 1);
  CHECK(found.lines.count({5, 0}) == 1);
  REQUIRE(found.inlined.size() == 1);
  CHECK(found.inlined.begin()->first == SampleLocation{3, 0});
  const SampledFunction& inner = found.inlined.begin()->second.at("inner");
  REQUIRE(inner.lines.size() == 1);
  CHECK(inner.lines.begin()->first == SampleLocation{2, 0});

  const std::string whole = std::to_string(WholeCount(count));
  const std::string text = ExportOrFail(kLlvmExporter, analysis).text;
  CHECK(text.starts_with("outer:" + std::to_string(WholeCount(found.total)) + ":" + whole + "\n"));
  CHECK(text.find("\n 1: " + whole + "\n") != std::string::npos);
  CHECK(text.find("\n 3: inner:" + std::to_string(WholeCount(inner.total)) + "\n  2: " + whole +
                  "\n") != std::string::npos);
}

// looping is executed as often as its first block, and called as often as the block with the call.
TEST_CASE("without branches, entries and calls are those of blocks") {
  const TemporaryFolder directory;
  const std::string path = directory.File("lib.so");
  if (!BuildLoopAtStart(directory, path)) HBBP_SKIP("there is no compiler");
  StatusOr<std::unique_ptr<ElfImage>> image = ElfImage::Open(path);
  REQUIRE(image.ok());
  ProfileData data = TinyProfile(path);
  data.counts.clear();
  for (const char* symbol : {"calling", "looping"}) {
    const uint64_t offset = (*image)->OffsetOfAddress(*(*image)->AddressOfSymbol(symbol))->value;
    data.counts.push_back(MakeCount(0, 0, 0, offset, 6, kTinyPeriod));
  }
  Normalize(&data.counts);
  const Analysis analysis = AnalyzeOrFail(std::move(data));
  double calls = 0;
  for (const BlockRecord& record : analysis.blocks()) {
    if (record.block.terminator == BranchKind::kCall) calls = record.estimate.count;
  }
  REQUIRE(calls > 0);
  const LineTableCache lines(analysis.shared_modules());
  const SampleProfile profile = MakeSampleProfile({analysis, lines});
  CHECK(profile.functions.at("calling").entries == Approx(calls));
  CHECK(profile.functions.at("looping").entries > 0);
  double called = 0;
  for (const auto& [location, line] : profile.functions.at("calling").lines) {
    const auto found = line.calls.find("looping");
    if (found != line.calls.end()) called += found->second;
  }
  CHECK(called == Approx(calls));
  for (const auto& [location, line] : profile.functions.at("looping").lines) {
    CHECK(line.calls.empty());
  }
}

// The call of inner@plt and the jump out of it are one entry.
TEST_CASE("a call through a stub enters a function once") {
  const TemporaryFolder directory;
  const std::string path = directory.File("lib.so"), source = directory.File("stub.c");
  std::ofstream(source) << R"(
void inner(int x) { __asm__ volatile("1: decl %0\nagain: jnz 1b" : "+r"(x)); }
int outer(int x) { __asm__ volatile("calls: call inner@PLT" : "+D"(x) : : "eax"); return x; }
)";
  const bool is_built = RunCommand(
      "cc -shared -fPIC -O1 -g -fcf-protection=none -Wl,--build-id "
      "-Wl,-z,lazy -o " +
      path + " " + source);
  if (!is_built) HBBP_SKIP("there is no compiler");
  StatusOr<std::unique_ptr<ElfImage>> image = ElfImage::Open(path);
  REQUIRE(image.ok());
  const auto address = [&](const char* symbol) { return *(*image)->AddressOfSymbol(symbol); };
  const auto offset = [&](ModuleAddress at) { return (*image)->OffsetOfAddress(at)->value; };
  ProfileData data = TinyProfile(path);
  data.counts.clear();
  data.sources[0].kind = SourceKind::kSwbt;
  std::ifstream file(path, std::ios::binary);
  file.seekg(static_cast<std::streamoff>(offset(address("calls")) + 1));
  int32_t distance = 0;
  file.read(reinterpret_cast<char*>(&distance), sizeof(distance));
  constexpr uint64_t kCallBytes = 5;
  const uint64_t stub =
      offset(address("calls") + kCallBytes + static_cast<uint64_t>(int64_t{distance}));
  REQUIRE(stub != offset(address("inner")));
  const auto branch = [](uint64_t from, uint64_t to, uint64_t end) {
    BranchCount count;
    count.from = from;
    count.to = to;
    count.stream_end = end;
    count.number = 1;
    count.weights = 100;
    return count;
  };
  const uint64_t inner = offset(address("inner"));
  data.branches = {branch(offset(address("calls")), stub, stub),
                   branch(stub, inner, offset(address("again")))};
  Normalize(&data.branches);
  const Analysis analysis = AnalyzeOrFail(std::move(data));
  const LineTableCache lines(analysis.shared_modules());
  const SampleProfile profile = MakeSampleProfile({analysis, lines});
  CHECK(profile.functions.at("inner").entries == Approx(100));
}

TEST_CASE("a call enters a function, and a jump to its own start is a loop") {
  const TemporaryFolder directory;
  const std::string path = directory.File("lib.so");
  if (!BuildLoopAtStart(directory, path)) HBBP_SKIP("there is no compiler");
  StatusOr<std::unique_ptr<ElfImage>> image = ElfImage::Open(path);
  REQUIRE(image.ok());
  const auto offset = [&](const char* symbol) {
    return (*image)->OffsetOfAddress(*(*image)->AddressOfSymbol(symbol))->value;
  };
  ProfileData data = TinyProfile(path);
  data.counts.clear();
  data.sources[0].kind = SourceKind::kSwbt;
  const auto branch = [](uint64_t from, uint64_t to, uint64_t end, double weights) {
    BranchCount count;
    count.from = from;
    count.to = to;
    count.stream_end = end;
    count.number = 1;
    count.weights = weights;
    return count;
  };
  data.branches = {branch(offset("again"), offset("looping"), offset("again"), 900),
                   branch(offset("calls"), offset("looping"), offset("again"), 100)};
  Normalize(&data.branches);
  const Analysis analysis = AnalyzeOrFail(std::move(data));
  const LineTableCache lines(analysis.shared_modules());
  const SampleProfile profile = MakeSampleProfile({analysis, lines});
  const SampledFunction& looping = profile.functions.at("looping");
  CHECK(looping.entries == Approx(100));
  for (const auto& [location, line] : looping.lines) CHECK(line.calls.empty());
}

// gcc moves the cold code of work to work.cold, which jumps back to the start of work at `back`.
bool BuildColdPart(const TemporaryFolder& directory, const std::string& library) {
  const std::string source = directory.File("cold.c");
  std::ofstream(source) << R"(
__attribute__((visibility("hidden"), cold, noinline)) void rare(void) { __asm__ volatile(""); }
__attribute__((visibility("hidden"))) int work(int x) {
  if (x > 1000) {
    rare();
    __asm__ volatile("back: jmp work");
    __builtin_unreachable();
  }
  return x + 1;
}
)";
  return RunCommand("cc -shared -fPIC -O2 -g -fcf-protection=none -Wl,--build-id -o " + library +
                    " " + source);
}

TEST_CASE("jumps to a cold part and back are within one function, and its code has lines of 0") {
  const TemporaryFolder directory;
  const std::string path = directory.File("lib.so");
  if (!BuildColdPart(directory, path)) HBBP_SKIP("there is no compiler");
  StatusOr<std::unique_ptr<ElfImage>> image = ElfImage::Open(path);
  REQUIRE(image.ok());
  const auto address = [&](const char* symbol) { return (*image)->AddressOfSymbol(symbol); };
  if (!address("work.cold")) HBBP_SKIP("the compiler does not split functions");
  const auto offset = [&](ModuleAddress at) { return (*image)->OffsetOfAddress(at)->value; };
  const uint64_t work = offset(*address("work")), cold = offset(*address("work.cold"));
  const uint64_t back = offset(*address("back"));

  ProfileData data = TinyProfile(path);
  data.counts = {MakeCount(0, 0, 0, work, 5, kTinyPeriod)};
  const Analysis sampled = AnalyzeOrFail(data);
  const LineTableCache sampled_lines(sampled.shared_modules());
  const SampleProfile without_branches = MakeSampleProfile({sampled, sampled_lines});
  REQUIRE(without_branches.functions.count("work") == 1);
  const auto& lines = without_branches.functions.at("work").lines;
  REQUIRE(lines.count({2, 0}) == 1);
  REQUIRE(lines.count({3, 0}) == 1);
  CHECK(lines.at({2, 0}).count == 0);
  CHECK(lines.at({3, 0}).count == 0);
  CHECK(without_branches.functions.count("rare") == 0);

  uint64_t to_part = 0;
  for (const Block& block : sampled.FunctionBlocks(0, *address("work"))) {
    if (!block.has_target || block.target != *address("work.cold")) continue;
    to_part = offset({sampled.modules().DecodeBlock(0, block).back().address});
  }
  REQUIRE(to_part != 0);
  const auto branch = [](uint64_t from, uint64_t to, uint64_t end) {
    BranchCount count;
    count.from = from;
    count.to = to;
    count.stream_end = end;
    count.number = 1;
    count.weights = 100;
    return count;
  };
  data.counts.clear();
  data.sources[0].kind = SourceKind::kSwbt;
  data.branches = {branch(to_part, cold, back), branch(back, work, to_part)};
  Normalize(&data.branches);
  const Analysis traced = AnalyzeOrFail(std::move(data));
  const LineTableCache traced_lines(traced.shared_modules());
  const SampleProfile profile = MakeSampleProfile({traced, traced_lines});
  REQUIRE(profile.functions.count("work") == 1);
  CHECK(profile.functions.at("work").total > 0);
  CHECK(profile.functions.at("work").entries == 0);
  for (const auto& [location, line] : profile.functions.at("work").lines) {
    CHECK(line.calls.count("work") == 0);
  }
}

// clang outlines the cold code of work to the function work.cold.1.
TEST_CASE("a function that has the name of a part is called") {
  const TemporaryFolder directory;
  const std::string path = directory.File("lib.so"), source = directory.File("outlined.c");
  std::ofstream(source) << R"(
__attribute__((visibility("hidden"), cold, noinline)) void rare(int* x) {
  __asm__ volatile("" : : "r"(x) : "memory");
}
__attribute__((visibility("hidden"))) int work(int x) {
  if (x > 1000) {
    x = x * 3 + 1;
    rare(&x);
    rare(&x);
    rare(&x);
    x -= 7;
  }
  return x + 1;
}
)";
  const bool is_built = RunCommand(
      "clang-14 -shared -fPIC -O2 -g -mllvm -hot-cold-split=true -mllvm -hotcoldsplit-threshold=0 "
      "-Wl,--build-id -o " +
      path + " " + source);
  if (!is_built) HBBP_SKIP("there is no clang-14");
  StatusOr<std::unique_ptr<ElfImage>> image = ElfImage::Open(path);
  REQUIRE(image.ok());
  const std::optional<ModuleAddress> outlined = (*image)->AddressOfSymbol("work.cold.1");
  REQUIRE(outlined);
  const ModuleAddress work = *(*image)->AddressOfSymbol("work");
  ProfileData data = TinyProfile(path);
  const auto samples = [&](ModuleAddress at) {
    return MakeCount(0, 0, 0, (*image)->OffsetOfAddress(at)->value, 5, kTinyPeriod);
  };
  data.counts = {samples(*outlined)};
  for (const Block& block : AnalyzeOrFail(data).FunctionBlocks(0, work)) {
    if (!block.has_target || block.target != *outlined) continue;
    data.counts.push_back(samples(block.start));
    const Analysis analysis = AnalyzeOrFail(data);
    const LineTableCache lines(analysis.shared_modules());
    const SampleProfile profile = MakeSampleProfile({analysis, lines});
    double calls = 0;
    for (const auto& [location, line] : profile.functions.at("work").lines) {
      const auto found = line.calls.find("work.cold.1");
      if (found != line.calls.end()) calls += found->second;
    }
    const StatusOr<BlockRecord> counted = analysis.FindBlock(0, block.start);
    REQUIRE(counted.ok());
    CHECK(counted->estimate.count > 0);
    CHECK(calls == Approx(counted->estimate.count));
    return;
  }
  FAIL("work does not call work.cold.1");
}

TEST_CASE("code without debug information is left out, and reported") {
  const TemporaryFolder directory;
  const std::string path = directory.File("lib.so");
  if (!BuildTinyLibrary(path)) HBBP_SKIP("there is no compiler");
  const Analysis analysis = AnalyzeOrFail(TinyProfile(path));
  Exported exported;
  const Status status = ExportTo(kLlvmExporter, analysis, &exported);
  CHECK(status.code() == StatusCode::kNotFound);
  CHECK(status.message().find("-fdebug-info-for-profiling") != std::string::npos);
  REQUIRE(exported.notes.size() == 1);
  CHECK(exported.notes[0].starts_with(path + " is left out: "));
}

}  // namespace
}  // namespace hbbp
