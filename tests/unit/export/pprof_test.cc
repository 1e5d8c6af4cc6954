// Tests profiles of pprof with libraries whose addresses and counts are known: TinyProfile counts
// entry 2000 times, loop 6000 times (of 3 instructions), tiny_twice 1000 / 3 times.
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "export/exporter.h"
#include "image/build_id.h"
#include "image/elf_image.h"
#include "support/analyze_or_fail.h"
#include "support/export_or_fail.h"
#include "support/temporary_folder.h"
#include "unit/export/decompressed.h"
#include "unit/export/inlined_code.h"
#include "unit/export/proto_reader.h"
#include "unit/profile/tiny_profile.h"

namespace hbbp {
namespace {

// A profile, with the numbers of strings replaced by strings.
struct ReadPprof {
  struct Mapping {
    uint64_t start = 0, limit = 0, offset = 0;
    std::string file, build_id;
  };
  struct Sample {
    std::vector<uint64_t> values;
    std::map<std::string, std::string> labels;
    uint64_t mapping = 0;
    uint64_t address = 0;
    std::vector<std::string> functions;  // "name:line", innermost first
  };
  ProtoFields top;
  std::vector<Mapping> mappings;
  std::vector<Sample> samples;

  const std::string& String(uint64_t index) const {
    REQUIRE(index < top.All(6).size());
    return top.All(6)[index];
  }
};

ReadPprof Read(const std::string& bytes) {
  ReadPprof profile;
  profile.top = ReadProto(bytes);
  REQUIRE_FALSE(profile.top.All(6).empty());
  CHECK(profile.String(0).empty());
  std::map<uint64_t, std::string> functions;
  for (const std::string& each : profile.top.All(5)) {
    const ProtoFields fields = ReadProto(each);
    CHECK(functions.emplace(fields.Number(1), profile.String(fields.Number(2))).second);
  }
  std::map<uint64_t, ReadPprof::Mapping> mappings;
  for (const std::string& each : profile.top.All(3)) {
    const ProtoFields fields = ReadProto(each);
    CHECK(fields.Number(7) == 1);
    profile.mappings.push_back({fields.Number(2), fields.Number(3), fields.Number(4),
                                profile.String(fields.Number(5)),
                                profile.String(fields.Number(6))});
    CHECK(mappings.emplace(fields.Number(1), profile.mappings.back()).second);
  }
  std::map<uint64_t, ReadPprof::Sample> locations;
  for (const std::string& each : profile.top.All(4)) {
    const ProtoFields fields = ReadProto(each);
    ReadPprof::Sample sample;
    sample.mapping = fields.Number(2);
    sample.address = fields.Number(3);
    REQUIRE(mappings.count(sample.mapping) == 1);
    CHECK(sample.address >= mappings[sample.mapping].start);
    CHECK(sample.address < mappings[sample.mapping].limit);
    for (const std::string& line : fields.All(4)) {
      const ProtoFields in_function = ReadProto(line);
      REQUIRE(functions.count(in_function.Number(1)) == 1);
      sample.functions.push_back(functions[in_function.Number(1)] + ":" +
                                 std::to_string(in_function.Number(2)));
    }
    CHECK(locations.emplace(fields.Number(1), sample).second);
  }
  for (const std::string& each : profile.top.All(2)) {
    const ProtoFields fields = ReadProto(each);
    const std::vector<uint64_t> location = fields.Packed(1);
    REQUIRE(location.size() == 1);
    REQUIRE(locations.count(location[0]) == 1);
    ReadPprof::Sample sample = locations[location[0]];
    sample.values = fields.Packed(2);
    CHECK(sample.values.size() == profile.top.All(1).size());
    for (const std::string& label : fields.All(3)) {
      const ProtoFields key = ReadProto(label);
      sample.labels[profile.String(key.Number(1))] =
          key.Number(3) != 0 ? std::to_string(key.Number(3)) : profile.String(key.Number(2));
    }
    profile.samples.push_back(std::move(sample));
  }
  return profile;
}

TEST_CASE("pprof has the counts of blocks by thread") {
  const TemporaryFolder directory;
  const std::string path = directory.File("lib.so");
  if (!BuildTinyLibrary(path)) HBBP_SKIP("there is no compiler");
  ProfileData data = TinyProfile(path);
  data.start_time_ns = 123;
  data.duration_ns = 456;
  data.command = "program --option";
  const Analysis analysis = AnalyzeOrFail(std::move(data));
  const Exported exported = ExportOrFail(kPprofExporter, analysis);
  CHECK(exported.notes.empty());
  CHECK(exported.text == ExportOrFail(kPprofExporter, analysis).text);
  const ReadPprof profile = Read(Decompressed(directory, exported.text));

  CHECK(profile.top.Number(9) == 123);
  CHECK(profile.top.Number(10) == 456);
  CHECK(profile.top.Number(12) == kTinyPeriod);
  CHECK(profile.String(profile.top.Number(14)) == "instructions");
  REQUIRE(profile.top.All(1).size() == 2);
  const ProtoFields executions = ReadProto(profile.top.All(1)[0]);
  CHECK(profile.String(executions.Number(1)) == "executions");
  CHECK(profile.String(executions.Number(2)) == "count");
  const ProtoFields period = ReadProto(profile.top.All(11).at(0));
  CHECK(profile.String(period.Number(1)) == "task-clock");
  CHECK(profile.String(period.Number(2)) == "nanoseconds");
  CHECK(profile.String(profile.top.Packed(13).at(0)) == "program --option");

  REQUIRE(profile.mappings.size() == 1);
  const ReadPprof::Mapping& mapping = profile.mappings[0];
  CHECK(mapping.file == path);
  CHECK(mapping.build_id == BuildIdText(analysis.data().modules[0].build_id));
  const uint64_t work = mapping.start + TinyWorkOffset(path) - mapping.offset;

  REQUIRE(profile.samples.size() == 4);
  const auto check = [&](size_t index, uint64_t address, uint64_t count, uint64_t instructions,
                         const std::string& function, const std::string& thread) {
    const ReadPprof::Sample& sample = profile.samples[index];
    CHECK(sample.address == address);
    CHECK(sample.values == std::vector<uint64_t>{count, instructions});
    CHECK(sample.functions == std::vector<std::string>{function + ":0"});
    CHECK(sample.labels.at("thread") == thread);
    CHECK(sample.labels.at("tid") == (thread == "first" ? "10" : "11"));
    CHECK(sample.labels.at("source") == "ebs");
  };
  check(0, work, 2000, 4000, "tiny_work", "first");
  check(1, work + kTinyLoop, 4000, 12000, "tiny_work", "first");
  check(2, work + kTinyLoop, 2000, 6000, "tiny_work", "second");
  check(3, work + kTinyTwice, 333, 1000, "tiny_twice", "second");
}

TEST_CASE("pprof has addresses of their own for all modules, and the program first") {
  const TemporaryFolder directory;
  const std::string path = directory.File("lib.so"), other = directory.File("other.so"),
                    fixed = directory.File("fixed.so"), program = directory.File("program");
  if (!BuildTinyLibrary(path) || !BuildTinyLibrary(other, "b") ||
      !BuildTinyLibrary(fixed, "c", "-Wl,--build-id=none,-Ttext-segment=0x40000000") ||
      !BuildTinyLibrary(program, "d")) {
    HBBP_SKIP("there is no compiler");
  }
  ProfileData data = TinyProfile(path);
  for (const std::string& more : {other, fixed, program}) {
    data.modules.push_back(TinyProfile(more).modules[0]);
    IpCount count = data.counts.back();
    count.module = static_cast<uint32_t>(data.modules.size() - 1);
    count.offset = TinyWorkOffset(more) + kTinyTwice;
    data.counts.push_back(count);
  }
  data.command = "perf record -- /elsewhere/program of two words, \xff and \xc3\xa9";
  const Analysis analysis = AnalyzeOrFail(std::move(data));
  const ReadPprof profile =
      Read(Decompressed(directory, ExportOrFail(kPprofExporter, analysis).text));
  REQUIRE(profile.mappings.size() == 4);
  CHECK(profile.mappings[0].file == program);
  CHECK(profile.mappings[0].start == profile.mappings[0].offset);
  CHECK(profile.String(profile.top.Packed(13).at(0)) ==
        "perf record -- /elsewhere/program of two words, \xef\xbf\xbd and \xc3\xa9");
  CHECK(profile.mappings[3].file == fixed);
  CHECK(profile.mappings[3].build_id.empty());
  CHECK(profile.mappings[3].start == 0x40000000 + profile.mappings[3].offset);
  for (const ReadPprof::Mapping& each : profile.mappings) {
    for (const ReadPprof::Mapping& another : profile.mappings) {
      CHECK((&each == &another || each.start >= another.limit || another.start >= each.limit));
    }
  }
  const ReadPprof one =
      Read(Decompressed(directory, ExportOrFail(kPprofExporter, analysis, 1).text));
  REQUIRE(one.mappings.size() == 1);
  CHECK(one.mappings[0].file == other);
  CHECK(one.samples.size() == 1);
}

TEST_CASE("pprof has lines and inlined functions, and each block's executions once") {
  const TemporaryFolder directory;
  const std::string path = directory.File("lib.so");
  if (!BuildInlinedCode(directory, path)) HBBP_SKIP("there is no compiler");
  const Analysis analysis = AnalyzeOrFail(InlinedProfile(path));
  REQUIRE(analysis.blocks().size() == 1);
  const BlockRecord& block = analysis.blocks()[0];
  const ReadPprof profile =
      Read(Decompressed(directory, ExportOrFail(kPprofExporter, analysis).text));
  uint64_t executions = 0, instructions = 0;
  std::map<std::vector<std::string>, uint64_t> by_stack;
  for (const ReadPprof::Sample& sample : profile.samples) {
    executions += sample.values[0];
    instructions += sample.values[1];
    by_stack[sample.functions] += sample.values[1];
  }
  CHECK(executions == WholeCount(block.estimate.count));
  CHECK(instructions == Approx(block.estimate.count * block.block.instruction_count).margin(10));
  CHECK(by_stack.count({"outer:7"}) == 1);
  CHECK(by_stack.count({"inner:4", "outer:9"}) == 1);
  CHECK(by_stack.count({"outer:11"}) == 1);
}

TEST_CASE("pprof has functions whose code is missing, by their samples") {
  const TemporaryFolder directory;
  const std::string path = directory.File("lib.so");
  if (!BuildTinyLibrary(path)) HBBP_SKIP("there is no compiler");
  constexpr uint64_t kAddress = 0x7f0000001000;  // where the library would be otherwise
  ProfileData data = TinyProfile(path);
  ModuleRecord generated;
  generated.kind = ModuleKind::kAnonymous;
  generated.path = "[anon]";
  generated.functions = {{{{kAddress}, {kAddress + 0x100}}, "compiled"}};
  data.modules.push_back(std::move(generated));
  for (const uint32_t thread : {0u, 1u}) {
    data.counts.push_back(MakeCount(1, 0, thread, kAddress + 8, 2 + thread, kTinyPeriod));
  }
  const Analysis analysis = AnalyzeOrFail(std::move(data));
  const ReadPprof profile =
      Read(Decompressed(directory, ExportOrFail(kPprofExporter, analysis).text));
  REQUIRE(profile.mappings.size() == 2);
  CHECK(profile.mappings[1].file == "[anon]");
  CHECK(profile.mappings[1].start == kAddress);
  CHECK(profile.mappings[0].start >= profile.mappings[1].limit);
  REQUIRE(profile.samples.size() == 6);
  for (const size_t thread : {0u, 1u}) {
    const ReadPprof::Sample& sample = profile.samples[4 + thread];
    CHECK(sample.functions == std::vector<std::string>{"compiled:0"});
    CHECK(sample.address == kAddress);
    CHECK(sample.values == std::vector<uint64_t>{0, (2 + thread) * kTinyPeriod});
  }
  CHECK(profile.top.All(4).size() == 4);
}

}  // namespace
}  // namespace hbbp
