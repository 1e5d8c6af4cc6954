// Tests Importer, which counts the events of a recording of many processes: mappings, fork and
// exec, branches, generated code, files of other machines, limits, and snapshots. The events are
// synthetic; MakeMapping(), SampleAt() and MakeBurst() make them.
#include "collect/importer.h"

#include <algorithm>
#include <string>
#include <vector>

#include "support/catch.h"
#include "support/event_builders.h"

namespace hbbp {
namespace {

constexpr uint32_t kPid = 100;

MappingEvent MakeMapping(const std::string& path, uint64_t start, uint64_t end, uint64_t offset = 0,
                         uint64_t time_ns = 0) {
  MappingEvent mapping;
  mapping.start = {start};
  mapping.end = {end};
  mapping.offset = {offset};
  mapping.path = path;
  mapping.time_ns = time_ns;
  return mapping;
}

IpSample SampleAt(uint64_t ip, uint32_t pid = kPid, uint64_t time_ns = 10) {
  IpSample sample;
  sample.ip = {ip};
  sample.pid = pid;
  sample.tid = pid;
  sample.time_ns = time_ns;
  sample.period = 1000;
  return sample;
}

// Makes a burst each of whose streams has the weight `weight`.
BurstSample MakeBurst(const std::vector<TakenBranch>& branches, uint64_t weight,
                      uint32_t pid = kPid) {
  BurstSample burst;
  burst.period = weight;
  burst.extent = 1;
  burst.pid = pid;
  burst.tid = pid;
  burst.time_ns = 10;
  burst.branches = branches;
  return burst;
}

uint32_t AddEbs(Importer* importer) {
  SourceRecord source;
  source.kind = SourceKind::kEbs;
  return importer->AddSource(source);
}

std::string FindPath(const ProfileData& data, const IpCount& count) {
  return data.modules[count.module].path;
}

TEST_CASE("samples are counted by their offset in the file") {
  Importer importer;
  const uint32_t source = AddEbs(&importer);
  importer.OnMapping(OfProcess(kPid, MakeMapping("/bin/a", 0x400000, 0x402000, 0x1000)));
  importer.OnSample(OfSource(source, SampleAt(0x400010)));
  importer.OnSample(OfSource(source, SampleAt(0x400010)));
  importer.OnSample(OfSource(source, SampleAt(0x999999)));
  const ProfileData data = importer.Snapshot();
  REQUIRE(data.counts.size() == 1);
  CHECK(FindPath(data, data.counts[0]) == "/bin/a");
  CHECK(data.counts[0].offset == 0x1010);
  CHECK(data.counts[0].samples == 2);
  CHECK(data.counts[0].period_sum == 2000);
  CHECK(data.sources[source].unmapped == 1);
}

TEST_CASE("the addresses of the kernel and the functions that perf reported are kept") {
  Importer importer;
  const uint32_t source = AddEbs(&importer);
  constexpr uint64_t kText = 0xffffffff92000000;
  MappingEvent kernel = MakeMapping("[kernel.kallsyms]_text", kText, kText + 0x1000000, kText);
  kernel.build_id = {1, 2, 3};
  importer.OnMapping(OfProcess(kKernelPid, kernel));
  const NamedRange function = {{{0xffffffffc0100000}, {0xffffffffc0100040}}, "bpf_prog_1"};
  importer.OnKernelFunction(function);
  importer.locator().SetKernelRelease("6.1.0");
  importer.OnSample(OfSource(source, SampleAt(kText + 16)));
  const ProfileData data = importer.Snapshot();
  REQUIRE(data.counts.size() == 1);
  CHECK(data.counts[0].offset == kText + 16);
  const ModuleRecord& module = data.modules[data.counts[0].module];
  CHECK(module.kind == ModuleKind::kKernel);
  CHECK(module.build_id == kernel.build_id);
  CHECK(module.kernel.release == "6.1.0");
  CHECK(module.kernel.reference_symbol == "_text");
  CHECK(module.kernel.reference_address == kText);
  CHECK(module.kernel.functions == std::vector{function});
}

TEST_CASE("a sample of the instruction before its address is counted apart from one at it") {
  Importer importer;
  const uint32_t source = AddEbs(&importer);
  importer.OnMapping(OfProcess(kPid, MakeMapping("/bin/a", 0x400000, 0x402000, 0x1000)));
  IpSample sample = SampleAt(0x400010);
  importer.OnSample(OfSource(source, sample));
  importer.OnSample(OfSource(source, SampleAt(0x999999)));
  sample.position = IpPosition::kAfter;
  importer.OnSample(OfSource(source, sample));
  const ProfileData data = importer.Snapshot();
  REQUIRE(data.counts.size() == 2);
  CHECK(data.counts[0].position == IpPosition::kAt);
  CHECK(data.counts[1].position == IpPosition::kAfter);
  CHECK(data.counts[1].offset == 0x1010);
  CHECK(data.modules[data.counts[0].module].path == "/bin/a");
}

TEST_CASE("one address is different files in different processes") {
  Importer importer;
  const uint32_t source = AddEbs(&importer);
  importer.OnMapping(OfProcess(1, MakeMapping("/bin/a", 0x400000, 0x401000)));
  importer.OnMapping(OfProcess(2, MakeMapping("/bin/b", 0x400000, 0x401000)));
  importer.OnSample(OfSource(source, SampleAt(0x400020, 1)));
  importer.OnSample(OfSource(source, SampleAt(0x400020, 2)));
  const ProfileData data = importer.Snapshot();
  REQUIRE(data.counts.size() == 2);
  CHECK(FindPath(data, data.counts[0]) == "/bin/a");
  CHECK(FindPath(data, data.counts[1]) == "/bin/b");
  CHECK(data.threads.size() == 2);
}

TEST_CASE("a child has the mappings of its parent, and each maps for itself from then on") {
  Importer importer;
  const uint32_t source = AddEbs(&importer);
  importer.OnMapping(OfProcess(1, MakeMapping("/bin/a", 0x400000, 0x401000)));
  importer.OnFork(MakeFork(1, 2));
  importer.OnMapping(OfProcess(2, MakeMapping("/lib/b", 0x500000, 0x501000)));
  importer.OnSample(OfSource(source, SampleAt(0x400000, 2)));
  importer.OnSample(OfSource(source, SampleAt(0x500000, 2)));
  importer.OnSample(OfSource(source, SampleAt(0x500000, 1)));
  const ProfileData data = importer.Snapshot();
  CHECK(data.counts.size() == 2);
  CHECK(data.sources[source].unmapped == 1);
}

TEST_CASE("after exec no earlier mapping is left") {
  Importer importer;
  const uint32_t source = AddEbs(&importer);
  importer.OnMapping(OfProcess(kPid, MakeMapping("/bin/a", 0x400000, 0x401000)));
  importer.OnSample(OfSource(source, SampleAt(0x400000)));
  importer.OnExec(kPid);
  importer.OnSample(OfSource(source, SampleAt(0x400000)));
  const ProfileData data = importer.Snapshot();
  CHECK(data.counts.size() == 1);
  CHECK(data.sources[source].unmapped == 1);
}

TEST_CASE(
    "a file that replaces another is found from its time on, also for samples that come late") {
  Importer importer;
  const uint32_t source = AddEbs(&importer);
  importer.OnMapping(OfProcess(kPid, MakeMapping("/lib/old", 0x400000, 0x401000, 0, 5)));
  importer.OnSample(OfSource(source, SampleAt(0x400000, kPid, 10)));
  importer.OnMapping(OfProcess(kPid, MakeMapping("/lib/new", 0x400000, 0x401000, 0, 20)));
  importer.OnSample(OfSource(source, SampleAt(0x400000, kPid, 15)));
  importer.OnSample(OfSource(source, SampleAt(0x400000, kPid, 25)));
  const ProfileData data = importer.Snapshot();
  REQUIRE(data.counts.size() == 2);
  CHECK(FindPath(data, data.counts[0]) == "/lib/old");
  CHECK(data.counts[0].samples == 2);
  CHECK(FindPath(data, data.counts[1]) == "/lib/new");
  CHECK(data.counts[1].samples == 1);
}

TEST_CASE("branches and their streams are counted over processes by their locations") {
  Importer importer;
  SourceRecord lbr;
  lbr.kind = SourceKind::kLbr;
  const uint32_t source = importer.AddSource(lbr);
  importer.OnMapping(OfProcess(1, MakeMapping("/bin/a", 0x400000, 0x401000)));
  importer.OnMapping(OfProcess(2, MakeMapping("/bin/a", 0x7f0000000000, 0x7f0000001000)));
  const auto loop = [](uint64_t base) {
    return std::vector<TakenBranch>{{{base + 0x50}, {base + 0x20}},
                                    {{base + 0x50}, {base + 0x20}},
                                    {{base + 0x60}, {0xffffffff81000000}}};
  };
  importer.OnBurst(OfSource(source, MakeBurst(loop(0x400000), 500, 1)));
  importer.OnBurst(OfSource(source, MakeBurst(loop(0x7f0000000000), 500, 2)));
  const ProfileData data = importer.Snapshot();
  uint64_t streams = 0, ends = 0;
  double weights = 0;
  for (const BranchCount& branch : data.branches) {
    CHECK(data.modules[branch.from_module].path == "/bin/a");
    if (!branch.HasStream()) {
      CHECK(data.modules[branch.to_module].kind == ModuleKind::kKernel);
      CHECK(branch.to == 0xffffffff81000000);
      ends += branch.number;
      continue;
    }
    CHECK(branch.from == 0x50);
    CHECK(branch.to == 0x20);
    CHECK((branch.stream_end == 0x50 || branch.stream_end == 0x60));
    streams += branch.number;
    weights += branch.weights;
  }
  CHECK(ends == 2);
  CHECK(streams == 4);
  CHECK(weights == 2000);
}

TEST_CASE("a stream that ends in another module leaves its own") {
  Importer importer;
  const uint32_t source = AddEbs(&importer);
  importer.OnMapping(OfProcess(kPid, MakeMapping("/bin/a", 0x400000, 0x401000)));
  importer.OnMapping(OfProcess(kPid, MakeMapping("/lib/b", 0x500000, 0x501000)));
  importer.OnBurst(
      OfSource(source, MakeBurst({{{0x400010}, {0x500000}}, {{0x400020}, {0x400030}}}, 1000)));
  const ProfileData data = importer.Snapshot();
  REQUIRE(data.branches.size() == 2);
  const BranchCount& first = data.branches[data.branches[0].HasStream() ? 0 : 1];
  CHECK(first.stream_end == kStreamLeavesModule);
}

TEST_CASE("a branch at the very last address is not taken for a mark") {
  for (const uint64_t last : {UINT64_MAX, UINT64_MAX - 1, UINT64_MAX - 2}) {
    Importer importer;
    const uint32_t source = AddEbs(&importer);
    const std::vector<TakenBranch> branches = {{{last - 8}, {last - 4}}, {{last}, {last}}};
    importer.OnBurst(OfSource(source, MakeBurst(branches, 1)));
    const ProfileData data = importer.Snapshot();
    REQUIRE(data.branches.size() == 2);
    const auto has_stream = [](const BranchCount& branch) { return branch.HasStream(); };
    CHECK(std::count_if(data.branches.begin(), data.branches.end(), has_stream) == 1);
  }
}

TEST_CASE("generated code of two processes is not mixed up") {
  Importer importer;
  const uint32_t source = AddEbs(&importer);
  for (uint32_t pid : {1u, 2u}) {
    importer.OnMapping(OfProcess(pid, MakeMapping("//anon", 0x600000, 0x601000)));
    importer.OnSample(OfSource(source, SampleAt(0x600010, pid)));
  }
  const ProfileData data = importer.Snapshot();
  REQUIRE(data.counts.size() == 2);
  CHECK(data.counts[0].module != data.counts[1].module);
  CHECK(data.counts[0].offset == 0x600010);
  CHECK(data.modules[data.counts[0].module].kind == ModuleKind::kAnonymous);
}

TEST_CASE("files of another machine are found at the paths in the options") {
  ImportOptions options;
  options.root = "/images/host";
  options.files["server"] = "/tmp/server.bin";
  Importer importer(options);
  const uint32_t source = AddEbs(&importer);
  importer.OnMapping(OfProcess(kPid, MakeMapping("/opt/server", 0x400000, 0x401000)));
  importer.OnMapping(OfProcess(kPid, MakeMapping("/lib/libc.so.6 (deleted)", 0x500000, 0x501000)));
  importer.OnBuildId("/lib/libc.so.6", {1, 2, 3});
  importer.OnSample(OfSource(source, SampleAt(0x400000)));
  importer.OnSample(OfSource(source, SampleAt(0x500000)));
  const ProfileData data = importer.Snapshot();
  REQUIRE(data.counts.size() == 2);
  // Everything names them as they were recorded.
  CHECK(FindPath(data, data.counts[0]) == "/opt/server");
  CHECK(LocalPath(data.modules[data.counts[0].module]) == "/tmp/server.bin");
  CHECK(FindPath(data, data.counts[1]) == "/lib/libc.so.6");
  CHECK(LocalPath(data.modules[data.counts[1].module]) == "/images/host/lib/libc.so.6");
  CHECK(data.modules[data.counts[1].module].build_id == std::vector<uint8_t>{1, 2, 3});
}

TEST_CASE("paths of a recording do not lead out of the root") {
  ImportOptions options;
  options.root = "/images/host";
  const Importer importer(options);
  CHECK(importer.locator().LocalPath("/lib/../../../etc/passwd") == "/images/host/etc/passwd");
  CHECK(importer.locator().LocalPath("../../etc/passwd") == "/images/host/etc/passwd");
  CHECK(importer.locator().LocalPath("/lib/x86/../libc.so.6") == "/images/host/lib/libc.so.6");
  CHECK(Importer().locator().LocalPath("/lib/../libc.so.6") == "/lib/../libc.so.6");
}

TEST_CASE("build IDs of headers lose their padding") {
  Importer importer;
  importer.OnMapping(OfProcess(kPid, MakeMapping("/bin/a", 0x400000, 0x401000)));
  std::vector<uint8_t> padded = {1, 2, 3, 4, 5, 6, 7, 8};
  const std::vector<uint8_t> build_id = padded;
  padded.resize(20);
  importer.OnBuildId("/bin/a", padded);
  const uint32_t source = AddEbs(&importer);
  importer.OnSample(OfSource(source, SampleAt(0x400000)));
  const ProfileData data = importer.Snapshot();
  REQUIRE(data.counts.size() == 1);
  CHECK(data.modules[data.counts[0].module].build_id == build_id);
}

TEST_CASE("a thread has the name of the one that made it until it gets its own") {
  Importer importer;
  const uint32_t source = AddEbs(&importer);
  importer.OnThreadName(kPid, kPid, "server");
  importer.OnFork({kPid, 101, kPid, kPid});
  importer.OnMapping(OfProcess(kPid, MakeMapping("/bin/a", 0x400000, 0x401000)));
  IpSample sample = SampleAt(0x400000);
  sample.tid = 101;
  importer.OnSample(OfSource(source, sample));
  const ProfileData data = importer.Snapshot();
  REQUIRE(data.threads.size() == 1);
  CHECK(data.threads[0].name == "server");
}

TEST_CASE("a storm of forks and mappings is bounded") {
  Importer importer;
  for (uint64_t i = 0; i < 30'000; ++i) {
    importer.OnMapping(OfProcess(1, MakeMapping("/bin/a", i << 12, (i + 1) << 12, i << 13)));
  }
  for (uint32_t child = 2; child < 400; ++child) {
    importer.OnFork(MakeFork(1, child));
    importer.OnMapping(
        OfProcess(1, MakeMapping("/bin/b", uint64_t{child} << 32, (uint64_t{child} << 32) + 1)));
  }
  CHECK(importer.locator().mappings_beyond_limit() > 200);
}

TEST_CASE("processes that ended leave room for others") {
  Importer importer;
  for (uint32_t pid = 1; pid < 3000; ++pid) {
    importer.OnFork(MakeFork(0, pid));
    for (uint64_t i = 0; i < 2000; ++i) {
      importer.OnMapping(OfProcess(pid, MakeMapping("/bin/a", i << 12, (i + 1) << 12, i << 13)));
    }
    importer.OnExec(pid);
  }
  CHECK(importer.locator().mappings_beyond_limit() == 0);
}

TEST_CASE("a snapshot has the counts so far, and ends nothing") {
  Importer importer;
  const uint32_t source = AddEbs(&importer);
  importer.OnMapping(OfProcess(kPid, MakeMapping("/bin/a", 0x400000, 0x401000)));
  importer.OnSample(OfSource(source, SampleAt(0x400000)));
  for (int i = 0; i < 2; ++i) {
    const ProfileData early = importer.Snapshot();
    REQUIRE(early.counts.size() == 1);
    CHECK(early.counts[0].samples == 1);
  }
  importer.OnSample(OfSource(source, SampleAt(0x400000)));
  const ProfileData late = importer.Snapshot();
  REQUIRE(late.counts.size() == 1);
  CHECK(late.counts[0].samples == 2);
}

using Bytes = std::vector<uint8_t>;

TEST_CASE("code that replaced other code is not mixed up with it") {
  Importer importer;
  const uint32_t source = AddEbs(&importer);
  const Bytes old_code = {0x90, 0x90, 0xc3}, new_code = {0xcc, 0xc3};
  importer.OnCode(CodeAt(kPid, {0x7000}, old_code.size(), old_code, "old", 10));
  importer.OnCode(CodeAt(kPid, {0x8000}, old_code.size(), old_code, "elsewhere", 10));
  importer.OnCode(CodeAt(kPid, {0x7001}, new_code.size(), new_code, "new", 20));
  importer.OnSample(OfSource(source, SampleAt(0x7001, kPid, 15)));
  importer.OnSample(OfSource(source, SampleAt(0x7001, kPid, 25)));
  importer.OnSample(OfSource(source, SampleAt(0x7000, kPid, 25)));
  importer.OnSample(OfSource(source, SampleAt(0x8000, kPid, 25)));
  importer.OnCode(CodeAt(kPid, {0x7000}, old_code.size(), old_code, "old", 30));
  importer.OnSample(OfSource(source, SampleAt(0x7001, kPid, 35)));
  const ProfileData data = importer.Snapshot();
  REQUIRE(data.counts.size() == 4);
  const ModuleRecord& first = data.modules[data.counts[0].module];
  const ModuleRecord& second = data.modules[data.counts[3].module];
  CHECK(first.path == "[generated code of 100]");
  CHECK(second.path == "[generated code of 100, layer 2]");
  REQUIRE(first.chunks.size() == 2);
  CHECK(first.chunks[0].bytes == old_code);
  CHECK(first.chunks[0].name == "old");
  CHECK(first.chunks[1].name == "elsewhere");
  REQUIRE(second.chunks.size() == 1);
  CHECK(second.chunks[0].bytes == new_code);
  CHECK(second.chunks[0].name == "new");
  CHECK(data.counts[0].offset == 0x7000);
  CHECK(data.counts[1].offset == 0x7001);
  CHECK(data.counts[1].samples == 2);  // before the new code, and after the old came back
  CHECK(data.counts[2].offset == 0x8000);
  CHECK(data.counts[3].offset == 0x7001);
  CHECK(data.counts[3].samples == 1);
}

TEST_CASE("the memory that code was generated into does not hide it when it is made executable") {
  Importer importer;
  const uint32_t source = AddEbs(&importer);
  const Bytes code = {0x90, 0xc3};
  importer.OnMapping(OfProcess(kPid, MakeMapping("//anon", 0x7000, 0x9000, 0, 5)));
  importer.OnCode(CodeAt(kPid, {0x7100}, code.size(), code, "", 10));
  importer.OnMapping(OfProcess(kPid, MakeMapping("//anon", 0x7000, 0x9000, 0, 20)));
  importer.OnSample(OfSource(source, SampleAt(0x7100, kPid, 30)));
  importer.OnSample(OfSource(source, SampleAt(0x7200, kPid, 30)));
  importer.OnMapping(OfProcess(kPid, MakeMapping("/bin/a", 0x7000, 0x9000, 0, 40)));
  importer.OnSample(OfSource(source, SampleAt(0x7100, kPid, 50)));
  const ProfileData data = importer.Snapshot();
  REQUIRE(data.counts.size() == 3);
  CHECK(FindPath(data, data.counts[0]) == "//anon");
  CHECK(FindPath(data, data.counts[1]) == "[generated code of 100]");
  CHECK(FindPath(data, data.counts[2]) == "/bin/a");
}

TEST_CASE("code of which there is too much is counted by address") {
  Importer importer;
  const uint32_t source = AddEbs(&importer);
  for (uint64_t i = 0; i < GeneratedCode::kMaxLayers + 3; ++i) {
    importer.OnCode(CodeAt(kPid, {0x7000}, 2,
                           Bytes{static_cast<uint8_t>(i), static_cast<uint8_t>(i >> 8)}, "",
                           10 + i));
  }
  importer.OnSample(OfSource(source, SampleAt(0x7000, kPid, 10'000)));
  CHECK(importer.locator().code_beyond_limit() == 3);
  const ProfileData data = importer.Snapshot();
  REQUIRE(data.counts.size() == 1);
  CHECK(data.modules[data.counts[0].module].chunks.empty());
}

TEST_CASE("a child runs its parent's generated code, and generates its own") {
  Importer importer;
  const uint32_t source = AddEbs(&importer);
  const Bytes code = {0x90, 0xc3}, code_of_child = {0xcc, 0xc3};
  importer.OnCode(CodeAt(kPid, {0x7000}, code.size(), code, "", 10));
  importer.OnFork(MakeFork(kPid, 200));
  importer.OnCode(CodeAt(200, {0x7000}, code_of_child.size(), code_of_child, "", 20));
  importer.OnSample(OfSource(source, SampleAt(0x7000, 200, 15)));
  importer.OnSample(OfSource(source, SampleAt(0x7000, 200, 25)));
  importer.OnSample(OfSource(source, SampleAt(0x7000, kPid, 25)));
  const ProfileData data = importer.Snapshot();
  REQUIRE(data.counts.size() == 3);
  CHECK(FindPath(data, data.counts[0]) == "[generated code of 100]");
  CHECK(FindPath(data, data.counts[1]) == "[generated code of 100]");
  CHECK(FindPath(data, data.counts[2]) == "[generated code of 200]");
}

TEST_CASE("threads have the names that they had last") {
  Importer importer;
  const uint32_t source = AddEbs(&importer);
  importer.OnThreadName(kPid, kPid, "early");
  importer.OnMapping(OfProcess(kPid, MakeMapping("/bin/a", 0x400000, 0x401000)));
  importer.OnSample(OfSource(source, SampleAt(0x400000)));
  CHECK(importer.source(source).unmapped == 0);
  importer.OnThreadName(kPid, kPid, "late");
  const ProfileData data = importer.Snapshot();
  REQUIRE(data.threads.size() == 1);
  CHECK(data.threads[0].name == "late");
}

}  // namespace
}  // namespace hbbp
