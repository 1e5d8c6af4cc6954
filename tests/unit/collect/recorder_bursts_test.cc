// Tests the part of Recorder that counts bursts.
#include <sys/mman.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "collect/recorder.h"
#include "support/catch.h"
#include "support/jit_memory.h"
#include "support/loaded_library.h"
#include "support/temporary_folder.h"
#include "support/tiny_library.h"
#include "unit/profile/sample_profiles.h"

namespace hbbp {
namespace {

constexpr uint32_t kPid = 500;
constexpr uint32_t kTid = 501;

SourceRecord Source(uint64_t period) {
  SourceRecord source;
  source.kind = SourceKind::kSwbt;
  source.event = EventKind::kTaskClock;
  source.period = period;
  return source;
}

MappingEvent MakeMapping(const std::string& path, uint64_t start, uint64_t end, uint64_t time,
                         uint64_t offset = 0) {
  MappingEvent event;
  event.start = {start};
  event.end = {end};
  event.offset = {offset};
  event.inode = 7;
  event.path = path;
  event.time_ns = time;
  return event;
}

void AddBurst(Recorder* recorder, const std::vector<TakenBranch>& branches, uint64_t time,
              uint32_t tid = kTid, uint64_t period = 1000, uint32_t source = 0) {
  BurstSample burst;
  burst.pid = kPid;
  burst.tid = tid;
  burst.time_ns = time;
  burst.period = period;
  burst.branches = branches;
  burst.source = source;
  recorder->OnBurst(burst);
}

BranchCount Expected(uint32_t from_module, uint64_t from, uint32_t to_module, uint64_t to,
                     uint64_t end, uint64_t number, double weights,
                     std::initializer_list<std::pair<size_t, float>> replicates = {},
                     uint32_t thread = 0) {
  BranchCount branch;
  branch.thread = thread;
  branch.from_module = from_module;
  branch.from = from;
  branch.to_module = to_module;
  branch.to = to;
  branch.stream_end = end;
  branch.number = number;
  branch.weights = weights;
  for (const auto& [replicate, sum] : replicates) branch.replicates.sums[replicate] += sum;
  return branch;
}

const std::vector<TakenBranch> kLoop(5, {{0x10050}, {0x10040}});

BurstSample LoopBurst() {
  BurstSample burst;
  burst.pid = kPid;
  burst.tid = kTid;
  burst.period = 1000;
  burst.branches = kLoop;
  return burst;
}

TEST_CASE("branches in the kernel are in its module, by their addresses") {
  constexpr uint64_t kText = 0xffffffff81000000;
  Recorder recorder;
  recorder.AddSource(Source(1000));
  recorder.OnMapping(MakeMapping("/no/lib.so", 0x10000, 0x20000, 10, 0x3000));
  AddBurst(&recorder,
           {{{0x10010}, {kText}}, {{kText + 64}, {kText + 16}}, {{kText + 32}, {0x10020}}}, 20);
  recorder.Commit(100);
  const ProfileData data = recorder.Snapshot();
  REQUIRE(data.modules.size() == 2);
  CHECK(data.modules[1].kind == ModuleKind::kKernel);
  CHECK(data.modules[1].kernel == DescribeRunningKernel());
  const size_t first = ReplicateOf(0);
  CHECK(Describe(data.branches) ==
        Describe(std::vector{
            Expected(1, kText + 32, 0, 0x3020, kNoStream, 1, 0),
            Expected(0, 0x3010, 1, kText, kText + 64, 1, 500, {{first, 500}}),
            Expected(1, kText + 64, 1, kText + 16, kText + 32, 1, 500, {{first, 500}})}));
}

TEST_CASE("bursts are counted by branch and stream in the file, with weights and replicates") {
  Recorder recorder;
  recorder.AddSource(Source(1000));
  recorder.OnMapping(MakeMapping("/no/lib.so", 0x10000, 0x20000, 10, 0x3000));
  AddBurst(&recorder, kLoop, 20);
  AddBurst(&recorder, {{{0x10010}, {0x10040}}, {{0x10050}, {0x10040}}, {{0x10050}, {0x10000}}}, 21);
  AddBurst(&recorder, kLoop, 22, kTid + 1);
  CHECK(recorder.samples() == 3);
  recorder.Commit(100);
  CHECK(recorder.samples() == 3);
  const ProfileData data = recorder.Snapshot();
  const size_t first = ReplicateOf(0), second = ReplicateOf(1), third = ReplicateOf(2);
  CHECK(Describe(data.branches) ==
        Describe(std::vector{
            Expected(0, 0x3050, 0, 0x3000, kNoStream, 1, 0),
            Expected(0, 0x3010, 0, 0x3040, 0x3050, 1, 500, {{second, 500}}),
            Expected(0, 0x3050, 0, 0x3040, 0x3050, 5, 1500, {{first, 1000}, {second, 500}}),
            Expected(0, 0x3050, 0, 0x3040, 0x3050, 4, 1000, {{third, 1000}}, 1),
            Expected(0, 0x3050, 0, 0x3040, kNoStream, 1, 0),
            Expected(0, 0x3050, 0, 0x3040, kNoStream, 1, 0, {}, 1),
        }));
  CHECK(data.counts.empty());
  REQUIRE(data.threads.size() == 2);
  CHECK(data.threads[0].tid == kTid);
}

// Parts that came to replicates of their own would scatter like bursts of their own.
TEST_CASE("the parts of a burst are of one replicate, and repeats of a burst of many") {
  constexpr uint32_t kParts = 60, kRepeats = 400;
  const bool is_in_parts = GENERATE(true, false);
  Recorder recorder;
  recorder.AddSource(Source(1000));
  recorder.OnMapping(MakeMapping("/no/lib.so", 0x10000, 0x20000, 10, 0x3000));
  BurstSample burst = LoopBurst();
  burst.time_ns = 20;
  if (is_in_parts) {
    burst.extent = 4 * kParts;
    for (uint32_t i = 1; i <= kParts; ++i) {
      burst.stack.is_continued = i != kParts;
      recorder.OnBurst(burst);
    }
  } else {
    burst.repeats = kRepeats;
    recorder.OnBurst(burst);
  }
  recorder.Commit(100);
  const ProfileData data = recorder.Snapshot();
  double sum = 0, squares = 0, counted = 0;
  for (const BranchCount& branch : data.branches) {
    if (!branch.HasStream()) continue;
    counted += branch.weights;
    for (const float share : branch.replicates.sums) {
      sum += double{share};
      squares += double{share} * double{share};
    }
  }
  CHECK(sum == Approx(counted));
  const double variance = 16.0 / 15 * (squares - sum * sum / 16);
  const double expected = is_in_parts ? sum * sum : sum * sum / kRepeats;
  CHECK(variance > 0.4 * expected);
  CHECK(variance < 1.9 * expected);
}

TEST_CASE("bursts with an extent are weighted by it, also after they have waited") {
  Recorder recorder;
  SourceRecord source = Source(1000);
  source.event = EventKind::kInstructions;
  source.burst_extent = BurstExtent::kEvents;
  recorder.AddSource(source);
  recorder.OnMapping(MakeMapping("/no/lib.so", 0x10000, 0x20000, 10, 0x3000));
  BurstSample burst = LoopBurst();
  // Bursts are delivered in another order than they were taken.
  burst.time_ns = 21;
  burst.extent = 8;
  recorder.OnBurst(burst);
  burst.time_ns = 20;
  burst.extent = 400;
  recorder.OnBurst(burst);
  recorder.Commit(100);
  const ProfileData data = recorder.Snapshot();
  CHECK(data.sources[0].burst_extent == BurstExtent::kEvents);
  const float long_streams = 4 * 1000 / 400, short_streams = 4 * 1000 / 8;
  CHECK(Describe(data.branches) ==
        Describe(std::vector{
            Expected(0, 0x3050, 0, 0x3040, 0x3050, 8, double{long_streams + short_streams},
                     {{ReplicateOf(0), long_streams}, {ReplicateOf(1), short_streams}}),
            Expected(0, 0x3050, 0, 0x3040, kNoStream, 2, 0),
        }));
}

TEST_CASE("sources of bursts that are weighted by another rule are different") {
  Recorder recorder;
  SourceRecord source = Source(1000);
  recorder.AddSource(source);
  source.burst_extent = BurstExtent::kEvents;
  recorder.AddSource(source);
  CHECK(recorder.Snapshot().sources.size() == 2);
}

TEST_CASE("snapshots in between change nothing") {
  Recorder once, often;
  for (Recorder* recorder : {&once, &often}) {
    recorder->AddSource(Source(1000));
    recorder->OnMapping(MakeMapping("/no/lib.so", 0x10000, 0x20000, 10));
    for (uint64_t time = 20; time < 60; ++time) {
      AddBurst(recorder, {{{0x10010}, {0x10040 + time % 7}}, {{0x10050}, {0x10000 + time % 3}}},
               time);
      recorder->Commit(time);
      if (recorder == &often) (void)recorder->Snapshot();
    }
  }
  CHECK(Describe(once.Snapshot()) == Describe(often.Snapshot()));
}

TEST_CASE("bursts wait for mappings before them that are reported later") {
  Recorder recorder;
  recorder.AddSource(Source(1000));
  AddBurst(&recorder, kLoop, 20);
  AddBurst(&recorder, kLoop, 40);
  recorder.Commit(19);
  CHECK(recorder.Snapshot().branches.empty());
  CHECK(recorder.samples() == 2);
  recorder.OnMapping(MakeMapping("/no/lib.so", 0x10000, 0x20000, 10));
  recorder.Commit(20);
  REQUIRE(recorder.Snapshot().branches.size() == 2);
  CHECK(recorder.Snapshot().branches[0].number == 4);
  recorder.Commit(UINT64_MAX);
  CHECK(recorder.Snapshot().branches[0].number == 8);
  CHECK(recorder.Snapshot().branches[0].to_module == 0);
}

TEST_CASE("libraries one after the other at the same address are distinguished by time") {
  Recorder recorder;
  recorder.AddSource(Source(1000));
  recorder.OnMapping(MakeMapping("/no/other.so", 0x90000, 0xa0000, 10));
  recorder.OnMapping(MakeMapping("/no/first.so", 0x10000, 0x20000, 10));
  recorder.OnMapping(MakeMapping("/no/second.so", 0x10000, 0x18000, 30, 0x5000));
  recorder.OnMapping(MakeMapping("/no/third.so", 0x10000, 0x20000, 50, 0x6000));
  for (uint64_t time : {55, 30, 29, 20, 49, 31, 50, 99}) AddBurst(&recorder, kLoop, time);
  recorder.Commit(60);
  // One burst is delivered late, from a time that is over, and one from the present.
  AddBurst(&recorder, kLoop, 45);
  AddBurst(&recorder, kLoop, 70);
  recorder.Commit(100);
  // A mapping replaces another one, after bursts of later times were counted for that.
  AddBurst(&recorder, kLoop, 105);
  recorder.Commit(110);
  recorder.OnMapping(MakeMapping("/no/first.so", 0x10000, 0x20000, 120));
  AddBurst(&recorder, kLoop, 119);
  AddBurst(&recorder, kLoop, 120);
  recorder.Commit(130);
  const ProfileData data = recorder.Snapshot();
  std::vector<uint64_t> streams(data.modules.size());
  for (const BranchCount& branch : data.branches) {
    REQUIRE(branch.to_module < streams.size());
    CHECK(branch.from_module == branch.to_module);
    if (branch.HasStream()) streams[branch.to_module] += branch.number;
  }
  REQUIRE(streams.size() == 4);
  CHECK(streams[0] == 0);
  CHECK(streams[1] == 4 * 3);  // 20 29 120
  CHECK(streams[2] == 4 * 4);  // 30 31 45 49
  CHECK(streams[3] == 4 * 6);  // 50 55 70 99 105 119
}

TEST_CASE("the same mapping again, or one next to it, changes nothing") {
  Recorder recorder;
  recorder.AddSource(Source(1000));
  recorder.OnMapping(MakeMapping("/no/lib.so", 0x10000, 0x20000, 10));
  AddBurst(&recorder, kLoop, 15);
  recorder.OnMapping(MakeMapping("/no/lib.so", 0x11000, 0x12000, 20, 0x1000));
  recorder.OnMapping(MakeMapping("/no/late.so", 0x30000, 0x40000, 20));
  AddBurst(&recorder, {{{0x10050}, {0x30040}}, {{0x30044}, {0x10040}}}, 25);
  recorder.Commit(30);
  CHECK(Describe(recorder.Snapshot().branches) ==
        Describe(std::vector{
            Expected(0, 0x50, 0, 0x40, 0x50, 4, 1000, {{ReplicateOf(0), 1000}}),
            Expected(0, 0x50, 0, 0x40, kNoStream, 1, 0),
            Expected(1, 0x44, 0, 0x40, kNoStream, 1, 0),
            Expected(0, 0x50, 1, 0x40, 0x44, 1, 1000, {{ReplicateOf(1), 1000}}),
        }));
}

TEST_CASE("addresses in no mapping, and streams into another module, are kept as such") {
  Recorder recorder;
  recorder.AddSource(Source(3000));
  recorder.OnMapping(MakeMapping("/no/a.so", 0x10000, 0x20000, 10));
  recorder.OnMapping(MakeMapping("/no/b.so", 0x20000, 0x30000, 10, 0x1000));
  AddBurst(&recorder,
           {{{0x500}, {0x10000}}, {{0x20010}, {0x600}}, {{0x700}, {0x20000}}, {{0x20010}, {0x800}}},
           20, kTid, 3000);
  recorder.Commit(30);
  const size_t replicate = ReplicateOf(0);
  CHECK(Describe(recorder.Snapshot().branches) ==
        Describe(std::vector{
            Expected(kNoModule, 0x500, 0, 0, kStreamLeavesModule, 1, 1000, {{replicate, 1000}}),
            Expected(kNoModule, 0x700, 1, 0x1000, 0x1010, 1, 1000, {{replicate, 1000}}),
            Expected(1, 0x1010, kNoModule, 0x600, 0x700, 1, 1000, {{replicate, 1000}}),
            Expected(1, 0x1010, kNoModule, 0x800, kNoStream, 1, 0),
        }));
}

uint64_t FindCounter(const ProfileData& data, const std::string& name) {
  for (const auto& [known, number] : data.sources[0].trace.counters) {
    if (known == name) return number;
  }
  return 0;
}

TEST_CASE("bursts of workers and bursts without a stream are counted as what they are") {
  Recorder recorder;
  recorder.AddSource(Source(1000));
  recorder.OnMapping(MakeMapping("/no/lib.so", 0x10000, 0x20000, 10));
  AddBurst(&recorder, kLoop, 20, 99);
  recorder.IgnoreThread(99);
  AddBurst(&recorder, {}, 20);
  AddBurst(&recorder, {{{0x10050}, {0x10040}}}, 20);
  recorder.Commit(30);
  const ProfileData data = recorder.Snapshot();
  CHECK(recorder.samples() == 2);
  CHECK(Describe(data.branches) ==
        Describe(std::vector{Expected(0, 0x50, 0, 0x40, kNoStream, 1, 0)}));
  CHECK(FindCounter(data, "worker-bursts") == 1);
  CHECK(FindCounter(data, "short-bursts") == 2);
  CHECK(data.threads.size() == 1);
  CHECK(FindCounter(recorder.Snapshot(), "short-bursts") == 2);
}

TEST_CASE("statistics of the tracer replace earlier ones and add up over runs") {
  Recorder recorder;
  recorder.AddSource(Source(1000));
  TraceStatistics reported;
  reported.mode = "lookahead";
  reported.method = "timers";
  reported.bursts = 5;
  reported.counters = {{"trap", 2}};
  recorder.OnTraceStatistics(0, reported);
  reported.bursts = 8;
  reported.counters = {{"trap", 3}, {"full", 1}};
  recorder.OnTraceStatistics(0, reported);
  CHECK(recorder.Snapshot().sources[0].trace.bursts == 8);
  CHECK(FindCounter(recorder.Snapshot(), "trap") == 3);
  recorder.AddSources({Source(1000)});
  reported.bursts = 2;
  recorder.OnTraceStatistics(0, reported);
  recorder.OnTraceStatistics(0, reported);
  const ProfileData data = recorder.Snapshot();
  REQUIRE(data.sources.size() == 1);
  CHECK(data.sources[0].trace.bursts == 10);
  CHECK(data.sources[0].trace.mode == "lookahead");
  CHECK(data.sources[0].trace.method == "timers");
  CHECK(FindCounter(data, "trap") == 6);
  CHECK(FindCounter(data, "full") == 2);
}

TEST_CASE("bursts belong to the source that ran when they were taken") {
  Recorder recorder;
  recorder.AddSource(Source(1000));
  recorder.OnMapping(MakeMapping("/no/lib.so", 0x10000, 0x20000, 10));
  AddBurst(&recorder, kLoop, 20);
  recorder.Commit(UINT64_MAX);
  CHECK(recorder.AddSources({Source(2000)}) == std::vector<uint32_t>{1});
  AddBurst(&recorder, kLoop, 40, kTid, 1000, 1);
  recorder.Commit(UINT64_MAX);
  const ProfileData data = recorder.Snapshot();
  REQUIRE(data.branches.size() == 4);
  CHECK(data.branches[0].source == 0);
  CHECK(data.branches[0].number == 4);
  CHECK(data.branches[1].source == 1);
  CHECK(data.branches[1].number == 4);
}

TEST_CASE("a library that a burst saw keeps its code after it was unloaded and deleted") {
  const TemporaryFolder directory;
  const std::string path = directory.File("lib.so");
  if (!BuildTinyLibrary(path)) HBBP_SKIP("there is no compiler");
  LoadedLibrary library(path);
  REQUIRE(library.ok());
  const uint64_t work = library.AddressOf("tiny_work");
  Recorder recorder;
  recorder.AddSource(Source(1000));
  REQUIRE(recorder.locator().AddCurrentMappings(10).ok());
  AddBurst(&recorder, std::vector<TakenBranch>(3, {{work + 11}, {work + kTinyLoop}}), 20);
  recorder.Commit(100);
  library.Close();
  std::filesystem::remove(path);
  const ProfileData data = recorder.Snapshot();
  REQUIRE(data.branches.size() == 2);
  const ModuleRecord& module = data.modules[data.branches[0].to_module];
  REQUIRE(module.pinned_file != nullptr);
  const uint64_t offset =
      TinyWorkOffset("/proc/self/fd/" + std::to_string(module.pinned_file->get()));
  CHECK(data.branches[0].to == offset + kTinyLoop);
  CHECK(data.branches[0].stream_end == offset + 11);
}

TEST_CASE("generated code is stored around the branches of a burst") {
  constexpr size_t kPage = 4096;
  constexpr size_t kPages = 16;
  auto* const code = static_cast<uint8_t*>(
      ::mmap(nullptr, kPages * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  REQUIRE(code != MAP_FAILED);
  std::memset(code, 0x90, kPages * kPage);
  const auto start = reinterpret_cast<uint64_t>(code);
  Recorder recorder;
  recorder.AddSource(Source(1000));
  recorder.OnMapping(MakeMapping("//anon", start, start + kPages * kPage, 10));
  const uint64_t loop = start + 3 * kPage + 5;
  AddBurst(&recorder, {{{start + 10 * kPage + 8}, {loop}}, {{loop + 9}, {loop}}}, 20);
  recorder.Commit(100);
  const ProfileData data = recorder.Snapshot();
  REQUIRE(data.modules.size() == 1);
  CHECK(data.branches[0].to == loop);
  CHECK(data.modules[0].chunks.size() == 6);
  ::munmap(code, kPages * kPage);
}

TEST_CASE("code that replaces code in which branches were counted has branches of its own") {
  JitMemory memory(3);
  const uint64_t loop = memory.address() + JitMemory::kPage;
  memory.Put(JitMemory::kPage, {0xff, 0xc9, 0x75, 0xfc});
  Recorder recorder;
  recorder.AddSource(Source(1000));
  recorder.OnMapping(
      MakeMapping("//anon", memory.address(), memory.address() + 3 * JitMemory::kPage, 10));
  const std::vector<TakenBranch> twice = {{{loop + 2}, {loop}}, {{loop + 2}, {loop}}};
  AddBurst(&recorder, twice, 20);
  recorder.Commit(30);
  memory.Put(JitMemory::kPage, {0xff, 0xca, 0x75, 0xfc});
  AddBurst(&recorder, twice, 40);
  AddBurst(&recorder, twice, 45);
  recorder.Commit(50);
  const ProfileData data = recorder.Snapshot();
  REQUIRE(data.modules.size() == 2);
  uint64_t numbers[2] = {};
  for (const BranchCount& branch : data.branches) {
    CHECK(branch.from_module == branch.to_module);
    numbers[branch.to_module] += branch.number;
  }
  CHECK(numbers[0] == 2);
  CHECK(numbers[1] == 4);
}

TEST_CASE("a cleared recorder has no bursts") {
  Recorder recorder;
  recorder.AddSource(Source(1000));
  recorder.OnMapping(MakeMapping("/no/lib.so", 0x10000, 0x20000, 10));
  AddBurst(&recorder, kLoop, 20);
  recorder.Commit(30);
  AddBurst(&recorder, kLoop, 40);
  recorder.Clear();
  recorder.Commit(UINT64_MAX);
  CHECK(Describe(recorder.Snapshot()) == Describe(ProfileData()));
  CHECK(recorder.samples() == 0);
}

}  // namespace
}  // namespace hbbp
