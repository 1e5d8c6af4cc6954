#include "profile/importer.h"

#include <string>
#include <vector>

#include "support/catch.h"

namespace hbbp {
namespace {

constexpr uint32_t kPid = 100;

MappingEvent MappingOf(const std::string& path, uint64_t start, uint64_t end, uint64_t offset = 0,
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

BurstSample BurstOf(const std::vector<TakenBranchSample>& branches, uint32_t pid = kPid) {
  BurstSample burst;
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

std::string PathOf(const ProfileData& data, const IpCount& count) {
  return data.modules[count.module].path;
}

TEST_CASE("samples are counted by their place in the file") {
  Importer importer;
  const uint32_t source = AddEbs(&importer);
  importer.AddMapping(kPid, MappingOf("/bin/a", 0x400000, 0x402000, 0x1000));
  importer.AddSample(source, SampleAt(0x400010));
  importer.AddSample(source, SampleAt(0x400010));
  importer.AddSample(source, SampleAt(0x999999));
  const ProfileData data = importer.Finish();
  REQUIRE(data.counts.size() == 1);
  CHECK(PathOf(data, data.counts[0]) == "/bin/a");
  CHECK(data.counts[0].offset == 0x1010);
  CHECK(data.counts[0].samples == 2);
  CHECK(data.counts[0].period_sum == 2000);
  CHECK(data.sources[source].unmapped == 1);
}

TEST_CASE("a sample of the instruction before its address is counted apart from one at it") {
  Importer importer;
  const uint32_t source = AddEbs(&importer);
  importer.AddMapping(kPid, MappingOf("/bin/a", 0x400000, 0x402000, 0x1000));
  IpSample sample = SampleAt(0x400010);
  const auto place = importer.AddSample(source, sample);
  REQUIRE(place.has_value());
  CHECK(place->offset == 0x1010);
  CHECK_FALSE(importer.AddSample(source, SampleAt(0x999999)).has_value());
  sample.position = IpPosition::kAfter;
  importer.AddSample(source, sample);
  const ProfileData data = importer.Finish();
  REQUIRE(data.counts.size() == 2);
  CHECK(data.counts[0].position == IpPosition::kAt);
  CHECK(data.counts[1].position == IpPosition::kAfter);
  CHECK(data.counts[1].offset == 0x1010);
  CHECK(data.modules[place->module].path == "/bin/a");
}

TEST_CASE("one address is different files in different processes") {
  Importer importer;
  const uint32_t source = AddEbs(&importer);
  importer.AddMapping(1, MappingOf("/bin/a", 0x400000, 0x401000));
  importer.AddMapping(2, MappingOf("/bin/b", 0x400000, 0x401000));
  importer.AddSample(source, SampleAt(0x400020, 1));
  importer.AddSample(source, SampleAt(0x400020, 2));
  const ProfileData data = importer.Finish();
  REQUIRE(data.counts.size() == 2);
  CHECK(PathOf(data, data.counts[0]) == "/bin/a");
  CHECK(PathOf(data, data.counts[1]) == "/bin/b");
  CHECK(data.threads.size() == 2);
}

TEST_CASE("a child has what its parent had, and each maps for itself from then on") {
  Importer importer;
  const uint32_t source = AddEbs(&importer);
  importer.AddMapping(1, MappingOf("/bin/a", 0x400000, 0x401000));
  importer.AddFork(1, 2);
  importer.AddMapping(2, MappingOf("/lib/b", 0x500000, 0x501000));
  importer.AddSample(source, SampleAt(0x400000, 2));
  importer.AddSample(source, SampleAt(0x500000, 2));
  importer.AddSample(source, SampleAt(0x500000, 1));
  const ProfileData data = importer.Finish();
  CHECK(data.counts.size() == 2);
  CHECK(data.sources[source].unmapped == 1);
}

TEST_CASE("after exec nothing of before is mapped") {
  Importer importer;
  const uint32_t source = AddEbs(&importer);
  importer.AddMapping(kPid, MappingOf("/bin/a", 0x400000, 0x401000));
  importer.AddSample(source, SampleAt(0x400000));
  importer.AddExec(kPid);
  importer.AddSample(source, SampleAt(0x400000));
  const ProfileData data = importer.Finish();
  CHECK(data.counts.size() == 1);
  CHECK(data.sources[source].unmapped == 1);
}

TEST_CASE(
    "a file that replaces another is found from its time on, also for samples that come late") {
  Importer importer;
  const uint32_t source = AddEbs(&importer);
  importer.AddMapping(kPid, MappingOf("/lib/old", 0x400000, 0x401000, 0, 5));
  importer.AddSample(source, SampleAt(0x400000, kPid, 10));
  importer.AddMapping(kPid, MappingOf("/lib/new", 0x400000, 0x401000, 0, 20));
  importer.AddSample(source, SampleAt(0x400000, kPid, 15));
  importer.AddSample(source, SampleAt(0x400000, kPid, 25));
  const ProfileData data = importer.Finish();
  REQUIRE(data.counts.size() == 2);
  CHECK(PathOf(data, data.counts[0]) == "/lib/old");
  CHECK(data.counts[0].samples == 2);
  CHECK(PathOf(data, data.counts[1]) == "/lib/new");
  CHECK(data.counts[1].samples == 1);
}

TEST_CASE("branches and their streams are counted over processes by their places") {
  Importer importer;
  SourceRecord lbr;
  lbr.kind = SourceKind::kLbr;
  const uint32_t source = importer.AddSource(lbr);
  importer.AddMapping(1, MappingOf("/bin/a", 0x400000, 0x401000));
  importer.AddMapping(2, MappingOf("/bin/a", 0x7f0000000000, 0x7f0000001000));
  const auto loop = [](uint64_t base) {
    return std::vector<TakenBranchSample>{{{base + 0x50}, {base + 0x20}},
                                          {{base + 0x50}, {base + 0x20}},
                                          {{base + 0x60}, {0xffffffff81000000}}};
  };
  importer.AddBurst(source, BurstOf(loop(0x400000), 1), 500);
  importer.AddBurst(source, BurstOf(loop(0x7f0000000000), 2), 500);
  const ProfileData data = importer.Finish();
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
  importer.AddMapping(kPid, MappingOf("/bin/a", 0x400000, 0x401000));
  importer.AddMapping(kPid, MappingOf("/lib/b", 0x500000, 0x501000));
  importer.AddBurst(source, BurstOf({{{0x400010}, {0x500000}}, {{0x400020}, {0x400030}}}), 1000);
  const ProfileData data = importer.Finish();
  REQUIRE(data.branches.size() == 2);
  const BranchCount& first = data.branches[data.branches[0].HasStream() ? 0 : 1];
  CHECK(first.stream_end == kStreamLeavesModule);
}

TEST_CASE("generated code of two processes is not mixed up") {
  Importer importer;
  const uint32_t source = AddEbs(&importer);
  for (uint32_t pid : {1u, 2u}) {
    importer.AddMapping(pid, MappingOf("//anon", 0x600000, 0x601000));
    importer.AddSample(source, SampleAt(0x600010, pid));
  }
  const ProfileData data = importer.Finish();
  REQUIRE(data.counts.size() == 2);
  CHECK(data.counts[0].module != data.counts[1].module);
  CHECK(data.counts[0].offset == 0x600010);
  CHECK(data.modules[data.counts[0].module].kind == ModuleKind::kAnonymous);
}

TEST_CASE("files of another machine are looked for where the options say") {
  ImportOptions options;
  options.root = "/images/host";
  options.files["server"] = "/tmp/server.bin";
  Importer importer(options);
  const uint32_t source = AddEbs(&importer);
  importer.AddMapping(kPid, MappingOf("/opt/server", 0x400000, 0x401000));
  importer.AddMapping(kPid, MappingOf("/lib/libc.so.6 (deleted)", 0x500000, 0x501000));
  importer.SetBuildId("/lib/libc.so.6", {1, 2, 3});
  importer.AddSample(source, SampleAt(0x400000));
  importer.AddSample(source, SampleAt(0x500000));
  const ProfileData data = importer.Finish();
  REQUIRE(data.counts.size() == 2);
  CHECK(PathOf(data, data.counts[0]) == "/tmp/server.bin");
  CHECK(PathOf(data, data.counts[1]) == "/images/host/lib/libc.so.6");
  CHECK(data.modules[data.counts[1].module].build_id == std::vector<uint8_t>{1, 2, 3});
}

TEST_CASE("a thread has the name of the one that made it until it gets its own") {
  Importer importer;
  const uint32_t source = AddEbs(&importer);
  importer.NameThread(kPid, kPid, "server");
  importer.AddThread(kPid, kPid, kPid, 101);
  importer.AddMapping(kPid, MappingOf("/bin/a", 0x400000, 0x401000));
  IpSample sample = SampleAt(0x400000);
  sample.tid = 101;
  importer.AddSample(source, sample);
  const ProfileData data = importer.Finish();
  REQUIRE(data.threads.size() == 1);
  CHECK(data.threads[0].name == "server");
}

TEST_CASE("a storm of forks and mappings is bounded") {
  Importer importer;
  for (uint64_t i = 0; i < 30'000; ++i) {
    importer.AddMapping(1, MappingOf("/bin/a", i << 12, (i + 1) << 12, i << 13));
  }
  for (uint32_t child = 2; child < 400; ++child) {
    importer.AddFork(1, child);
    importer.AddMapping(1, MappingOf("/bin/b", uint64_t{child} << 32, (uint64_t{child} << 32) + 1));
  }
  CHECK(importer.dropped_mappings() > 200);
}

TEST_CASE("threads have the names that they had last") {
  Importer importer;
  const uint32_t source = AddEbs(&importer);
  importer.NameThread(kPid, kPid, "early");
  importer.AddMapping(kPid, MappingOf("/bin/a", 0x400000, 0x401000));
  importer.AddSample(source, SampleAt(0x400000));
  CHECK(importer.source(source).unmapped == 0);
  importer.NameThread(kPid, kPid, "late");
  const ProfileData data = importer.Finish();
  REQUIRE(data.threads.size() == 1);
  CHECK(data.threads[0].name == "late");
}

}  // namespace
}  // namespace hbbp
