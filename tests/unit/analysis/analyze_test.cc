// Tests Analyze(): how samples, streams and sums of IBS become counts of blocks and functions,
// which estimator counts a block, and what remains unexplained. The profiles are synthetic; their
// code is a tiny library (unit/profile/tiny_profile.h), which the system's compiler builds.
// TinyStreams() adds streams to it, TinyOfBothFamilies() streams and samples. The last test records
// a real library whose file is removed or replaced meanwhile (RecordTiny()).
#include "analysis/analyze.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "analysis/ip_sums.h"
#include "collect/module_capture.h"
#include "collect/recorder.h"
#include "profile/profile_file.h"
#include "support/analyze_or_fail.h"
#include "support/catch.h"
#include "support/compute_mix_or_fail.h"
#include "support/event_builders.h"
#include "support/loaded_library.h"
#include "support/temporary_folder.h"
#include "unit/profile/tiny_profile.h"

namespace hbbp {
namespace {

#define HBBP_BUILD_OR_SKIP(...) \
  if (!BuildTinyLibrary(__VA_ARGS__)) HBBP_SKIP("there is no compiler")

TEST_CASE("samples become block counts with standard errors") {
  const TemporaryFolder directory;
  const std::string path = directory.File("lib.so");
  HBBP_BUILD_OR_SKIP(path);
  const Analysis profile = AnalyzeOrFail(TinyProfile(path));
  const std::vector<BlockRecord>& blocks = profile.blocks();
  REQUIRE(blocks.size() == 3);

  const BlockRecord& entry = blocks[0];
  CHECK(entry.block.end - entry.block.start == kTinyLoop);
  CHECK(entry.block.instruction_count == 2);
  CHECK(entry.samples == 4);
  CHECK(entry.source == SourceKind::kEbs);
  CHECK(entry.estimate.count == Approx(4 * 1000 / 2.0));
  CHECK(entry.estimate.standard_error == Approx(1000 * std::sqrt(4.0) / 2));

  const BlockRecord& loop = blocks[1];
  CHECK(loop.block.start == entry.block.end);
  CHECK(loop.block.instruction_count == 3);
  CHECK(loop.samples == 18);
  CHECK(loop.estimate.count == Approx(18 * 1000 / 3.0));
  CHECK(loop.estimate.standard_error == Approx(1000 * std::sqrt(18.0) / 3));

  const BlockRecord& twice = blocks[2];
  CHECK(twice.block.start - entry.block.start == kTinyTwice);
  CHECK(twice.block.instruction_count == 3);
  CHECK(twice.estimate.count == Approx(1000 / 3.0));
}

TEST_CASE("an analysis that is cancelled leaves nothing behind, wherever it was") {
  const TemporaryFolder directory;
  const std::string path = directory.File("lib.so");
  HBBP_BUILD_OR_SKIP(path);
  ProfileData data = TinyProfile(path);
  // There are many threads, so that there are many steps.
  const std::vector<IpCount> counts = data.counts;
  for (uint32_t tid = 2; tid < 300; ++tid) {
    data.threads.push_back({1, tid, "many"});
    for (IpCount count : counts) {
      count.thread = static_cast<uint32_t>(data.threads.size() - 1);
      data.counts.push_back(count);
    }
  }
  Normalize(&data.counts);
  const Analysis whole = AnalyzeOrFail(data);
  const auto modules =
      std::make_shared<const ResolvedModules>(std::make_shared<const ProfileData>(data));
  int last_call = 0;
  for (int cancelled_call = 1; last_call < 100; ++cancelled_call) {
    CAPTURE(cancelled_call);
    CancelFlag flag;
    int calls = 0;
    uint64_t last_done = 0;
    const Work work = {[&](uint64_t done, uint64_t all) {
                         CHECK(done >= last_done);
                         CHECK(done <= all);
                         last_done = done;
                         if (++calls == cancelled_call) flag.Set(true);
                       },
                       &flag};
    const StatusOr<Analysis> analysis = Analyze(modules, {}, work);
    last_call = calls;
    if (analysis.ok()) break;
    CHECK(analysis.status().code() == StatusCode::kCancelled);
    CHECK(calls == cancelled_call);
  }
  CHECK(last_call > 5);
  CHECK(last_call < 100);
  const Analysis profile = *Analyze(modules);
  REQUIRE(profile.blocks().size() == whole.blocks().size());
  for (size_t i = 0; i < whole.blocks().size(); ++i) {
    CHECK(profile.blocks()[i].samples == whole.blocks()[i].samples);
    CHECK(profile.blocks()[i].estimate.count == whole.blocks()[i].estimate.count);
  }
  CHECK(profile.functions().size() == whole.functions().size());
  CHECK(profile.contributions().size() == whole.contributions().size());
  CHECK(profile.branches().size() == whole.branches().size());
}

TEST_CASE("a sample of the instruction before its address is in the block of that") {
  const TemporaryFolder directory;
  const std::string path = directory.File("lib.so");
  HBBP_BUILD_OR_SKIP(path);
  ProfileData data = TinyProfile(path);
  const uint64_t work = TinyWorkOffset(path);
  data.counts = {
      MakeCount(0, 0, 0, work, 1, kTinyPeriod),                    // nothing is before it
      MakeCount(0, 0, 0, work + kTinyLoop, 2, kTinyPeriod),        // falls in from the entry
      MakeCount(0, 0, 0, work + kTinyLoop + 2, 4, kTinyPeriod),    // inside the loop
      MakeCount(0, 0, 0, work + kTinyReturn, 8, kTinyPeriod),      // jnz was not taken
      MakeCount(0, 0, 0, work + kTinyTwice, 16, kTinyPeriod),      // after a return
      MakeCount(0, 0, 0, work + kTinyTwice + 2, 32, kTinyPeriod),  // inside
  };
  const auto samples_by_block = [&] {
    std::vector<uint64_t> samples;
    const Analysis profile = AnalyzeOrFail(data);
    for (const BlockRecord& block : profile.blocks()) {
      samples.push_back(block.samples);
    }
    return samples;
  };
  CHECK(samples_by_block() == std::vector<uint64_t>{1, 2 + 4, 8, 16 + 32});
  for (IpCount& count : data.counts) count.position = IpPosition::kAfter;
  CHECK(samples_by_block() == std::vector<uint64_t>{1 + 2, 4 + 8, 16 + 32});
}

TEST_CASE("samples of uops count blocks by their uops") {
  const TemporaryFolder directory;
  const std::string path = directory.File("lib.so");
  // The loop has two instructions, which are three uops.
  const std::string source = directory.Write("rmw.s", R"(
    .globl f
    .type f, @function
  f: addl %eax, (%rsp)
    ret
    .size f, . - f
    .section .note.GNU-stack, "", @progbits)");
  if (!RunCommand("cc -shared -nostdlib -Wl,--build-id -o " + path + " " + source)) {
    HBBP_SKIP("there is no compiler");
  }
  const std::vector<uint8_t> file = BytesOfFile(path);
  const uint8_t code[] = {0x01, 0x04, 0x24, 0xc3};
  const auto offset = static_cast<uint64_t>(
      std::search(file.begin(), file.end(), std::begin(code), std::end(code)) - file.begin());
  ProfileData data = TinyProfile(path);
  data.counts = {MakeCount(0, 0, 0, offset, 9, kTinyPeriod)};
  CHECK(AnalyzeOrFail(data).blocks().at(0).estimate.count == Approx(9000 / 2.0));
  data.sources[0].event = EventKind::kUops;
  const Analysis profile = AnalyzeOrFail(data);
  CHECK(profile.blocks().at(0).estimate.count == Approx(9000 / 3.0));
  CHECK(profile.blocks().at(0).estimate.standard_error == Approx(3000 / 3.0));
  CHECK(profile.functions().at(0).instructions == Approx(2 * 9000 / 3.0));
}

TEST_CASE("sums of IBS are by instruction, whatever thread and source") {
  const TemporaryFolder directory;
  const std::string path = directory.File("lib.so");
  HBBP_BUILD_OR_SKIP(path);
  ProfileData data = TinyProfile(path);
  const uint64_t work = TinyWorkOffset(path);
  data.modules.resize(3);
  data.modules[1].kind = ModuleKind::kKernel;
  data.modules[2].path = "/nonexistent";
  data.ibs_names = {"op-loads", "op-stores"};
  data.ibs_counts = {{0, 0, 0, 0, work, 1}, {0, 1, 0, 0, work, 2},  {1, 0, 0, 0, work, 4},
                     {0, 0, 0, 1, work, 8}, {0, 0, 1, 0, 0xff, 16}, {0, 0, 2, 0, 0x10, 32},
                     {0, 0, 2, 0, 0x20, 64}};
  const Analysis profile = AnalyzeOrFail(data);
  const std::vector<IbsSumRecord>& sums = profile.ibs_sums();
  REQUIRE(sums.size() == 4);
  CHECK(sums[0].address == profile.functions()[0].range.start);
  CHECK(sums[0].function == 0);
  CHECK(sums[0].event == 0);
  CHECK(sums[0].sum == 7);
  CHECK(sums[1].event == 1);
  CHECK(sums[1].sum == 8);
  CHECK(sums[2].address.value == 0xff);
  CHECK(sums[2].function == kNoIndex);
  CHECK(sums[3].address == kNoAddress);
  CHECK(sums[3].sum == 32 + 64);
}

TEST_CASE("IP samples are by instruction and source, whatever thread") {
  const TemporaryFolder directory;
  const std::string path = directory.File("lib.so");
  HBBP_BUILD_OR_SKIP(path);
  ProfileData data = TinyProfile(path);
  const uint64_t work = TinyWorkOffset(path);
  data.modules.resize(3);
  data.modules[1].kind = ModuleKind::kKernel;
  data.modules[2].path = "/nonexistent";
  data.sources.resize(2);
  data.sources[1] = data.sources[0];
  data.sources[1].event = EventKind::kCycles;
  const auto make = [](uint32_t module, uint32_t source, uint64_t offset, uint64_t samples) {
    return MakeCount(module, source, 0, offset, samples, kTinyPeriod);
  };
  const auto make_after = [&make](uint64_t offset, uint64_t samples) {
    IpCount count = make(0, 0, offset, samples);
    count.position = IpPosition::kAfter;
    return count;
  };
  data.counts = {make(0, 0, work, 1),
                 MakeCount(0, 0, 1, work, 2, kTinyPeriod),  // another thread
                 make(0, 1, work, 4),
                 make_after(work + kTinyLoop, 8),       // falls in from the entry
                 make_after(work + kTinyLoop + 2, 16),  // the first one of the loop
                 make_after(work + kTinyTwice, 32),     // after a return: counts for what follows
                 make(1, 0, 0xff, 64),
                 make(2, 0, 0x10, 128),
                 make(2, 0, 0x20, 256)};
  Normalize(&data.counts);
  const Analysis analysis = AnalyzeOrFail(data);
  const ModuleAddress start = analysis.functions()[0].range.start;
  std::map<std::tuple<uint32_t, ModuleAddress, uint32_t>, uint64_t> samples;
  for (const IpSumRecord& sum : ListIpSums(data, analysis)) samples[sum.Key()] = sum.samples;
  CHECK(samples == std::map<std::tuple<uint32_t, ModuleAddress, uint32_t>, uint64_t>{
                       {{0, start, 0}, 1 + 2},
                       {{0, start, 1}, 4},
                       {{0, start + 2, 0}, 8},
                       {{0, start + kTinyLoop, 0}, 16},
                       {{0, start + kTinyTwice, 0}, 32},
                       {{1, ModuleAddress{0xff}, 0}, 64},
                       {{2, kNoAddress, 0}, 128 + 256}});
  CHECK(ListIpSums(data, analysis).front().function == 0);
}

TEST_CASE("latencies of IBS are by instruction, level and bucket, whatever thread and source") {
  const TemporaryFolder directory;
  const std::string path = directory.File("lib.so");
  HBBP_BUILD_OR_SKIP(path);
  ProfileData data = TinyProfile(path);
  const uint64_t work = TinyWorkOffset(path);
  data.modules.resize(2);
  data.modules[1].path = "/nonexistent";
  data.ibs_names = {"load", "dc-miss"};
  data.ibs_buckets = {{0, 0, 0, 0, work, 1, 6, 40}, {0, 1, 0, 0, work, 2, 6, 40},
                      {1, 0, 0, 0, work, 4, 6, 40}, {0, 0, 0, 0, work, 8, 6, 41},
                      {0, 0, 0, 0, work, 16, 1, 0}, {0, 0, 1, 0, 0x10, 32, 1, 0},
                      {0, 0, 1, 0, 0x20, 64, 1, 0}, {0, 0, kNoModule, 1, 0, 128, 0, 40}};
  const Analysis profile = AnalyzeOrFail(data);
  const std::vector<IbsLatencyRecord>& latencies = profile.ibs_latencies();
  REQUIRE(latencies.size() == 4);
  CHECK(latencies[0].address == profile.functions()[0].range.start);
  CHECK(latencies[0].function == 0);
  CHECK(latencies[0].level == 1);
  CHECK(latencies[0].samples == 16);
  CHECK(latencies[1].level == 6);
  CHECK(latencies[1].bucket == 40);
  CHECK(latencies[1].samples == 7);
  CHECK(latencies[2].bucket == 41);
  CHECK(latencies[2].samples == 8);
  CHECK(latencies[3].address == kNoAddress);
  CHECK(latencies[3].samples == 32 + 64);
}

TEST_CASE("a block is biased as the branches in it are") {
  const TemporaryFolder directory;
  const std::string path = directory.File("lib.so");
  HBBP_BUILD_OR_SKIP(path);
  ProfileData data = TinyProfile(path);
  for (SourceRecord& source : data.sources) source.kind = SourceKind::kLbr;
  data.counts.clear();
  const uint64_t loop = TinyWorkOffset(path) + kTinyLoop;
  // Two sources have branches of one loop, and an entry from elsewhere.
  data.branches = {MakeBranch(0, 0, kNoModule, 1, 0, loop, loop + 4, 9, 1),
                   MakeBranch(0, 0, 0, loop + 4, 0, loop, loop + 4, 100, 1),
                   MakeBranch(1, 0, 0, loop + 4, 0, loop, loop + 4, 50, 1)};
  data.branches[0].oldest_expected = 0.5;
  data.branches[1].oldest = 30, data.branches[1].oldest_expected = 6;
  data.branches[2].oldest = 10, data.branches[2].oldest_expected = 3;
  const Analysis profile = AnalyzeOrFail(data);
  REQUIRE(profile.blocks().size() == 1);
  CHECK(profile.blocks()[0].bias.oldest == 40);
  CHECK(profile.blocks()[0].bias.expected == 9);
  CHECK(profile.branches().back().bias.oldest + profile.branches().front().bias.oldest == 40);
}

TEST_CASE("functions have names, bounds and the instructions of their blocks") {
  const TemporaryFolder directory;
  const std::string path = directory.File("lib.so");
  HBBP_BUILD_OR_SKIP(path);
  const Analysis profile = AnalyzeOrFail(TinyProfile(path));
  const std::vector<FunctionRecord>& functions = profile.functions();
  REQUIRE(functions.size() == 2);
  CHECK(functions[0].name == "tiny_work");
  CHECK(functions[0].range.start == profile.blocks()[0].block.start);
  CHECK(functions[0].range.end - functions[0].range.start == 14);
  CHECK(functions[0].samples == 22);
  CHECK(functions[0].instructions == Approx(22'000));
  CHECK(functions[0].standard_error == Approx(1000 * std::sqrt(22.0)));
  CHECK(functions[1].name == "tiny_twice");
  CHECK(functions[1].samples == 1);
  CHECK(profile.blocks()[0].function == 0);
  CHECK(profile.blocks()[1].function == 0);
  CHECK(profile.blocks()[2].function == 1);
}

TEST_CASE("a function without a symbol is named after its address") {
  const TemporaryFolder directory;
  const std::string path = directory.File("lib.so");
  const std::string script = directory.Write("hide.map", "{ local: *; };");
  HBBP_BUILD_OR_SKIP(path, "", "-s -Wl,--build-id -Wl,--version-script=" + script);
  const Analysis profile = AnalyzeOrFail(TinyProfile(path));
  REQUIRE(profile.functions().size() == 1);
  char name[32];
  std::snprintf(name, sizeof(name), "0x%llx",
                static_cast<unsigned long long>(profile.functions()[0].range.start.value));
  CHECK(profile.functions()[0].name == name);
}

TEST_CASE("what threads contribute adds up to the counts of blocks") {
  const TemporaryFolder directory;
  const std::string path = directory.File("lib.so");
  HBBP_BUILD_OR_SKIP(path);
  const Analysis profile = AnalyzeOrFail(TinyProfile(path));
  std::vector<double> sums(profile.blocks().size());
  std::vector<uint64_t> samples(profile.blocks().size());
  REQUIRE(profile.contributions().size() == 6);
  for (const Contribution& contribution : profile.contributions()) {
    REQUIRE(contribution.block < sums.size());
    sums[contribution.block] += contribution.period_sum;
    samples[contribution.block] += contribution.samples;
  }
  for (size_t i = 0; i < sums.size(); ++i) {
    const BlockRecord& block = profile.blocks()[i];
    CHECK(samples[i] == block.samples);
    CHECK(sums[i] / block.block.instruction_count == Approx(block.estimate.count));
  }
}

TEST_CASE("samples are counted by source, thread and module without any code") {
  ProfileData data = FullProfile();
  data.modules[0].path = "/no/lib.so";
  const Analysis profile = AnalyzeOrFail(data);
  CHECK(profile.totals().of_source[0] == 3 + 1 + 1 + 7 + 5);
  CHECK(profile.totals().of_source[1] == 2 + 1 + 15);
  CHECK(profile.totals().of_source[2] == 2);
  CHECK(profile.totals().unmapped_of_source[0] == 5);
  CHECK(profile.totals().unmapped_of_source[2] == 1);
  CHECK(profile.totals().of_thread[0] == 3 + 2 + 1 + 2);
  CHECK(profile.totals().of_thread[1] == 1 + 7 + 1);
  CHECK(profile.totals().of_module[0] == 6 + 9);
  CHECK(profile.totals().of_module[2] == 7 + 22);
}

TEST_CASE("samples where there is no code are unexplained, by source") {
  const TemporaryFolder directory;
  const std::string path = directory.File("lib.so");
  HBBP_BUILD_OR_SKIP(path);
  ProfileData data = TinyProfile(path);
  data.counts.push_back(MakeCount(0, 0, 0, 0, 5, 1000));  // the ELF header
  data.counts.push_back(MakeCount(0, 1, 0, uint64_t{1} << 40, 7, 1000));
  Normalize(&data.counts);
  const Analysis profile = AnalyzeOrFail(data);
  CHECK(profile.UnexplainedOfSource(0) == 5);
  CHECK(profile.UnexplainedOfSource(1) == 7);
  CHECK(profile.blocks().size() == 3);
  uint64_t explained = 0;
  for (const BlockRecord& block : profile.blocks()) explained += block.samples;
  CHECK(explained + 12 == profile.totals().of_module[0]);
}

TEST_CASE("a module whose file is gone explains nothing and says why") {
  ProfileData data = TinyProfile("/proc/self/exe");
  data.modules[0].path = "/nonexistent/lib.so";
  const Analysis profile = AnalyzeOrFail(data);
  CHECK(profile.blocks().empty());
  CHECK(profile.UnexplainedOfSource(0) == 20);
  CHECK(profile.UnexplainedOfSource(1) == 3);
  CHECK(profile.modules().CodeStateOf(0) == CodeState::kMissing);
  CHECK(profile.modules().ProblemOf(0).starts_with("/nonexistent/lib.so: "));
  CHECK(profile.FindBlock(0, {0x1000}).status().code() == StatusCode::kNotFound);
  CHECK(profile.modules().Decode(0, {0x1000}).status().code() == StatusCode::kNotFound);
}

TEST_CASE("a module whose file was replaced explains nothing and names both build IDs") {
  const TemporaryFolder directory;
  const std::string path = directory.File("lib.so");
  HBBP_BUILD_OR_SKIP(path, "old");
  const ProfileData data = TinyProfile(path);
  HBBP_BUILD_OR_SKIP(path, "new");
  const Analysis profile = AnalyzeOrFail(data);
  CHECK(profile.modules().CodeStateOf(0) == CodeState::kMismatch);
  CHECK(profile.modules().ProblemOf(0).find("was profiled") != std::string::npos);
  CHECK(profile.blocks().empty());
  CHECK(profile.UnexplainedOfSource(0) == 20);
}

TEST_CASE("a block is found whether it has samples or not") {
  const TemporaryFolder directory;
  const std::string path = directory.File("lib.so");
  HBBP_BUILD_OR_SKIP(path);
  const Analysis profile = AnalyzeOrFail(TinyProfile(path));
  const ModuleAddress work = profile.blocks()[0].block.start;
  const StatusOr<BlockRecord> loop = profile.FindBlock(0, work + kTinyLoop + 1);
  REQUIRE(loop.ok());
  CHECK(loop->samples == 18);
  CHECK(loop->block == profile.blocks()[1].block);
  const StatusOr<BlockRecord> unseen = profile.FindBlock(0, work + kTinyReturn);
  REQUIRE(unseen.ok());
  CHECK(unseen->samples == 0);
  CHECK(unseen->source == SourceKind::kNone);
  CHECK(unseen->function == 0);
  CHECK(unseen->block.instruction_count == 1);
  const StatusOr<BlockRecord> elsewhere = profile.FindBlock(0, work + kTinySpin);
  REQUIRE(elsewhere.ok());
  CHECK(elsewhere->function == kNoIndex);
  CHECK(profile.FindBlock(0, {UINT64_MAX}).status().code() == StatusCode::kNotFound);
  CHECK(profile.FindBlock(1, work).status().code() == StatusCode::kNotFound);
}

TEST_CASE("the instructions of a block, and one at a time") {
  const TemporaryFolder directory;
  const std::string path = directory.File("lib.so");
  HBBP_BUILD_OR_SKIP(path);
  const Analysis profile = AnalyzeOrFail(TinyProfile(path));
  std::string mnemonics;
  for (const Instruction& instruction :
       profile.modules().DecodeBlock(0, profile.blocks()[1].block)) {
    mnemonics += std::string(MnemonicName(instruction.mnemonic)) + " ";
  }
  CHECK((mnemonics == "add dec jnz " || mnemonics == "add dec jne "));
  const ModuleAddress work = profile.blocks()[0].block.start;
  const StatusOr<Instruction> move = profile.modules().Decode(0, work + 2);
  REQUIRE(move.ok());
  CHECK(MnemonicName(move->mnemonic) == "mov");
  CHECK(move->length == 5);
  CHECK(move->address == (work + 2).value);
  CHECK(profile.modules().Decode(1, work).status().code() == StatusCode::kNotFound);
}

TEST_CASE("generated code that was stored explains its samples") {
  ProfileData data = FullProfile();
  data.modules[2].chunks = {{0x7000, {0x90, 0x90, 0xc3}}};
  data.counts = {MakeCount(2, 0, 0, 0x7001, 6, 1000), MakeCount(2, 0, 0, 0x9000, 2, 1000)};
  const Analysis profile = AnalyzeOrFail(data);
  REQUIRE(profile.blocks().size() == 1);
  CHECK(profile.blocks()[0].block.start == ModuleAddress{0x7000});
  CHECK(profile.blocks()[0].block.instruction_count == 3);
  CHECK(profile.blocks()[0].estimate.count == Approx(2000));
  CHECK(profile.modules().CodeStateOf(2) == CodeState::kProfile);
  CHECK(profile.UnexplainedOfSource(0) == 2);
  REQUIRE(profile.functions().size() == 1);
  CHECK(profile.functions()[0].name == "0x7000");
}

TEST_CASE("generated functions with names are separate though they touch") {
  ProfileData data = FullProfile();
  data.branches.clear();
  data.modules[2].chunks = {{0x7000, {0x90, 0x90, 0xc3}, "first"},
                            {0x7003, {0x90, 0xc3}, "second"},
                            {0x7005, {0x90, 0xc3}}};
  data.counts = {MakeCount(2, 0, 0, 0x7000, 3, 1000), MakeCount(2, 0, 0, 0x7004, 2, 1000),
                 MakeCount(2, 0, 0, 0x7005, 1, 1000)};
  const Analysis profile = AnalyzeOrFail(data);
  REQUIRE(profile.functions().size() == 3);
  CHECK(profile.functions()[0].name == "first");
  CHECK(profile.functions()[0].range.end == ModuleAddress{0x7003});
  CHECK(profile.functions()[1].name == "second");
  CHECK(profile.functions()[2].name == "0x7005");
  REQUIRE(profile.blocks().size() == 3);
  CHECK(profile.blocks()[1].block.start == ModuleAddress{0x7003});
  CHECK(profile.blocks()[1].block.instruction_count == 2);
}

TEST_CASE("an empty profile has nothing") {
  const Analysis profile = AnalyzeOrFail(ProfileData());
  CHECK(profile.blocks().empty());
  CHECK(profile.functions().empty());
  CHECK(profile.FindBlock(0, {0}).status().code() == StatusCode::kNotFound);
}

TEST_CASE("many threads may ask at once and get the same") {
  const TemporaryFolder directory;
  const std::string path = directory.File("lib.so");
  HBBP_BUILD_OR_SKIP(path);
  const Analysis profile = AnalyzeOrFail(TinyProfile(path));
  std::vector<size_t> found(4);
  std::vector<std::thread> threads;
  for (size_t& mine : found) {
    threads.emplace_back([&profile, &mine] {
      for (const BlockRecord& block : profile.blocks()) {
        mine += profile.modules().DecodeBlock(block.module, block.block).size();
        mine += profile.FindBlock(0, block.block.start).ok();
      }
      mine += profile.functions().size();
      mine += profile.modules().CodeStateOf(0) == CodeState::kFile;
      mine += profile.UnexplainedOfSource(0);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (size_t mine : found) CHECK(mine == 2 + 3 + 3 + 3 + 2 + 1);
}

// Returns TinyProfile with streams. N is 5, so each has the weight 250. By thread 1 there are 8
// around the loop, 3 from entry through the loop, and 2 through the loop to the return; by thread 0
// there is 1 across tiny_twice.
ProfileData TinyStreams(const std::string& library) {
  const uint64_t work = TinyWorkOffset(library);
  ProfileData data = TinyProfile(library);
  data.counts.clear();
  data.sources.resize(1);
  data.sources[0].kind = SourceKind::kSwbt;
  data.branches = {
      MakeBranch(0, 1, kNoModule, 0x1234, 0, work, work + 11, 3, kTinyPeriod),
      MakeBranch(0, 1, 0, work + 11, 0, work + kTinyLoop, work + 11, 8, kTinyPeriod),
      MakeBranch(0, 1, 0, work + 11, 0, work + kTinyLoop, work + kTinyReturn, 2, kTinyPeriod),
      MakeBranch(0, 0, 0, work + kTinyReturn, 0, work + kTinyTwice, work + 19, 1, kTinyPeriod),
      MakeBranch(0, 1, 0, work + 19, kNoModule, 0x5678, kNoStream, 4, kTinyPeriod),
      MakeBranch(0, 1, 0, work + 11, 0, work + kTinyLoop, kNoStream, 1, kTinyPeriod),
  };
  Normalize(&data.branches);
  return data;
}

TEST_CASE("streams count every block that they cross") {
  const TemporaryFolder directory;
  const std::string path = directory.File("lib.so");
  HBBP_BUILD_OR_SKIP(path);
  const Analysis profile = AnalyzeOrFail(TinyStreams(path));
  const std::vector<BlockRecord>& blocks = profile.blocks();
  REQUIRE(blocks.size() == 4);

  CHECK(blocks[0].block.instruction_count == 2);
  CHECK(blocks[0].source == SourceKind::kSwbt);
  CHECK(blocks[0].samples == 3);
  CHECK(blocks[0].estimate.count == 750);
  CHECK(blocks[0].estimate.standard_error == Approx(750));

  const BlockRecord& loop = blocks[1];
  CHECK(loop.block.start - blocks[0].block.start == kTinyLoop);
  CHECK(loop.block.instruction_count == 3);
  CHECK(loop.samples == 13);
  CHECK(loop.estimate.count == 3250);
  // Three replicates have 2000, 750 and 500.
  const double squares = 2000.0 * 2000 + 750 * 750 + 500 * 500 - 3250.0 * 3250 / 16;
  CHECK(loop.estimate.standard_error == Approx(std::sqrt(squares * 16 / 15)));

  CHECK(blocks[2].block.start - blocks[0].block.start == kTinyReturn);
  CHECK(blocks[2].samples == 2);
  CHECK(blocks[2].estimate.count == 500);
  CHECK(blocks[3].block.start - blocks[0].block.start == kTinyTwice);
  CHECK(blocks[3].estimate.count == 250);
  CHECK(profile.UnexplainedOfSource(0) == 0);
  CHECK(profile.totals().unmapped_of_source[0] == 4);
  CHECK(profile.totals().of_source[0] == 5);
  CHECK(profile.totals().of_thread[0] == 0);
  CHECK(profile.totals().of_thread[1] == 5);
  CHECK(profile.totals().of_module[0] == 15);
}

TEST_CASE("a function has the instructions of its blocks, and errors of whole bursts") {
  const TemporaryFolder directory;
  const std::string path = directory.File("lib.so");
  HBBP_BUILD_OR_SKIP(path);
  const Analysis profile = AnalyzeOrFail(TinyStreams(path));
  REQUIRE(profile.functions().size() == 2);
  const FunctionRecord& work = profile.functions()[0];
  CHECK(work.name == "tiny_work");
  CHECK(work.samples == 13);
  CHECK(work.instructions == 750 * 2 + 3250 * 3 + 500 * 1);
  const double by_replicate[] = {2000 * 3, 750 * (2 + 3), 500 * (3 + 1)};
  double squares = -work.instructions * work.instructions / 16;
  for (const double sum : by_replicate) squares += sum * sum;
  CHECK(work.standard_error == Approx(std::sqrt(squares * 16 / 15)));
  CHECK(profile.functions()[1].samples == 1);
  CHECK(profile.functions()[1].instructions == 750);
}

TEST_CASE("what threads contribute to streams adds up to the counts of blocks") {
  const TemporaryFolder directory;
  const std::string path = directory.File("lib.so");
  HBBP_BUILD_OR_SKIP(path);
  ProfileData data = TinyStreams(path);
  for (BranchCount branch : TinyStreams(path).branches) {
    branch.thread = 0;
    data.branches.push_back(branch);
  }
  Normalize(&data.branches);
  const Analysis profile = AnalyzeOrFail(data);
  std::vector<StreamSums> sums(profile.blocks().size());
  CHECK(profile.stream_contributions().size() == 7);
  for (const StreamContribution& contribution : profile.stream_contributions()) {
    REQUIRE(contribution.block < sums.size());
    sums[contribution.block].Add(contribution.sums);
  }
  for (size_t i = 0; i < sums.size(); ++i) {
    CHECK(sums[i].streams == profile.blocks()[i].samples);
    CHECK(sums[i].weights == profile.blocks()[i].estimate.count);
    CHECK(sums[i].replicates == profile.blocks()[i].replicates);
  }
  CHECK(profile.blocks()[1].estimate.count == 6500);
}

TEST_CASE("a stream that starts inside a block splits it") {
  const TemporaryFolder directory;
  const std::string path = directory.File("lib.so");
  HBBP_BUILD_OR_SKIP(path);
  ProfileData data = TinyStreams(path);
  const uint64_t work = TinyWorkOffset(path);
  data.branches.push_back(MakeBranch(0, 0, 0, work + 19, 0, work + 9, work + 11, 4, kTinyPeriod));
  Normalize(&data.branches);
  const Analysis profile = AnalyzeOrFail(data);
  REQUIRE(profile.blocks().size() == 5);
  const BlockRecord& first = profile.blocks()[1];
  const BlockRecord& second = profile.blocks()[2];
  CHECK(first.block.instruction_count == 1);
  CHECK(first.block.terminator == BranchKind::kNone);
  CHECK(first.estimate.count == 3250);
  CHECK(second.block.start == first.block.end);
  CHECK(second.block.instruction_count == 2);
  CHECK(second.estimate.count == 4250);
}

uint64_t UnexplainedBecause(const Analysis& profile, UnexplainedReason reason) {
  return profile.UnexplainedByReason(0)[static_cast<size_t>(reason)];
}

TEST_CASE("streams that no path explains are counted, each with its reason") {
  const TemporaryFolder directory;
  const std::string path = directory.File("lib.so");
  HBBP_BUILD_OR_SKIP(path);
  ProfileData data = TinyStreams(path);
  const uint64_t work = TinyWorkOffset(path);
  const auto add = [&](uint64_t to, uint64_t end, uint64_t number) {
    data.branches.push_back(MakeBranch(0, 0, 0, work, 0, to, end, number, kTinyPeriod));
  };
  add(0, 4, 1);                                   // the ELF header
  add(work + 11, work + kTinyLoop, 2);            // backwards
  add(work + kTinyLoop, work + 19, 3);            // past a return
  add(work + kTinyLoop, work + 9, 4);             // to a dec
  add(work + kTinyLoop, kStreamLeavesModule, 5);  // into another module
  add(work, uint64_t{1} << 40, 6);                // after the end of the module
  Normalize(&data.branches);
  const Analysis profile = AnalyzeOrFail(data);
  CHECK(UnexplainedBecause(profile, UnexplainedReason::kNoCode) == 1);
  CHECK(UnexplainedBecause(profile, UnexplainedReason::kBackwards) == 2);
  CHECK(UnexplainedBecause(profile, UnexplainedReason::kPassesBranch) == 3);
  CHECK(UnexplainedBecause(profile, UnexplainedReason::kNotABranch) == 4);
  CHECK(UnexplainedBecause(profile, UnexplainedReason::kLeavesModule) == 5 + 6);
  CHECK(profile.UnexplainedOfSource(0) == 1 + 2 + 3 + 4 + 5 + 6);
  uint64_t explained = 0;
  for (const StreamContribution& contribution : profile.stream_contributions()) {
    explained += contribution.sums.streams;
  }
  // The loop is two blocks, because a branch arrived at its jnz.
  CHECK(explained == 3 + 2 * 13 + 2 + 1);
}

TEST_CASE("streams in a module without code are unexplained") {
  ProfileData data = TinyStreams("/proc/self/exe");
  data.modules[0].path = "/nonexistent/lib.so";
  const Analysis profile = AnalyzeOrFail(data);
  CHECK(profile.blocks().empty());
  CHECK(UnexplainedBecause(profile, UnexplainedReason::kNoCode) == 14);
  CHECK(profile.UnexplainedOfSource(0) == 14);
  REQUIRE(profile.branches().size() == 3);
  CHECK(profile.branches()[0].to_module == 0);
  CHECK(profile.branches()[0].to == kNoAddress);
  CHECK(profile.branches()[0].observed == 8 + 2 + 1 + 1);
}

TEST_CASE("taken branches are listed once, with their addresses and counts") {
  const TemporaryFolder directory;
  const std::string path = directory.File("lib.so");
  HBBP_BUILD_OR_SKIP(path);
  const Analysis profile = AnalyzeOrFail(TinyStreams(path));
  const ModuleAddress work = profile.blocks()[0].block.start;
  const std::vector<TakenBranchRecord>& branches = profile.branches();
  REQUIRE(branches.size() == 4);
  CHECK(branches[0].from_module == 0);
  CHECK(branches[0].from == work + 11);
  CHECK(branches[0].to == work + kTinyLoop);
  CHECK(branches[0].observed == 8 + 2 + 1);
  CHECK(branches[0].count == (8 + 2) * 250);
  CHECK(branches[1].from == work + kTinyReturn);
  CHECK(branches[1].to == work + kTinyTwice);
  CHECK(branches[2].from == work + 19);
  CHECK(branches[2].to_module == kNoIndex);
  CHECK(branches[2].to == kNoAddress);
  CHECK(branches[2].observed == 4);
  CHECK(branches[2].count == 0);
  CHECK(branches[3].from_module == kNoIndex);
  CHECK(branches[3].from == kNoAddress);
  CHECK(branches[3].to == work);
  CHECK(branches[3].count == 750);
}

TEST_CASE("where streams and samples saw a module, streams alone count it") {
  const TemporaryFolder directory;
  const std::string path = directory.File("lib.so");
  HBBP_BUILD_OR_SKIP(path);
  ProfileData data = TinyProfile(path);
  const ProfileData streams = TinyStreams(path);
  data.sources.push_back(streams.sources[0]);
  data.modules.emplace_back();
  data.modules[1].kind = ModuleKind::kAnonymous;
  data.modules[1].chunks = {{0x7000, {0x90, 0x90, 0xc3}}};
  data.counts.push_back(MakeCount(1, 0, 0, 0x7001, 6, kTinyPeriod));
  const uint64_t work = TinyWorkOffset(path);
  // tiny_twice has only samples.
  for (BranchCount branch : streams.branches) {
    branch.source = 2;
    if (branch.to < work + kTinyTwice) data.branches.push_back(branch);
  }
  const Analysis profile = AnalyzeOrFail(data);
  const std::vector<BlockRecord>& blocks = profile.blocks();
  REQUIRE(blocks.size() == 4);
  CHECK(blocks[0].estimate.count == 750);
  CHECK(blocks[1].estimate.count == 3250);
  CHECK(blocks[1].source == SourceKind::kSwbt);
  CHECK(blocks[1].samples == 13);
  CHECK(blocks[2].estimate.count == 500);
  CHECK(blocks[3].module == 1);
  CHECK(blocks[3].source == SourceKind::kEbs);
  // For the tiny library, streams count 11750 instructions and samples 23 periods.
  CHECK(profile.family_scales().streams == 1);
  CHECK(profile.family_scales().ebs == Approx(11750.0 / (23 * kTinyPeriod)));
  CHECK(blocks[3].estimate.count == Approx(2000 * 11750.0 / (23 * kTinyPeriod)));
  CHECK(profile.SupersededOfSource(0) == 20);
  CHECK(profile.SupersededOfSource(1) == 3);
  CHECK(profile.UnexplainedOfSource(0) == 0);
  REQUIRE(profile.functions().size() == 2);
  CHECK(profile.functions()[0].instructions == 750 * 2 + 3250 * 3 + 500);

  // Streams that explain nothing do not supersede samples.
  data.branches = {MakeBranch(2, 0, 0, work, 0, work + 11, work, 9, kTinyPeriod)};
  const Analysis unexplained = AnalyzeOrFail(data);
  REQUIRE(unexplained.blocks().size() >= 4);
  CHECK(unexplained.blocks()[0].source == SourceKind::kEbs);
  CHECK(unexplained.SupersededOfSource(0) == 0);
  CHECK(unexplained.UnexplainedOfSource(2) == 9);
}

// Returns the tiny library by samples, and except for tiny_twice by streams.
ProfileData TinyOfBothFamilies(const std::string& path) {
  ProfileData data = TinyProfile(path);
  const ProfileData streams = TinyStreams(path);
  data.sources.push_back(streams.sources[0]);
  for (BranchCount branch : streams.branches) {
    branch.source = 2;
    if (branch.to < TinyWorkOffset(path) + kTinyTwice) data.branches.push_back(branch);
  }
  return data;
}

EstimatorOptions TreeOf(const char* json) {
  EstimatorOptions options;
  options.kind = EstimatorKind::kTree;
  StatusOr<DecisionTree> tree = DecisionTree::FromJson(json);
  REQUIRE(tree.ok());
  options.tree = *std::move(tree);
  return options;
}

TEST_CASE("the estimator says which family counts a block") {
  const TemporaryFolder directory;
  const std::string path = directory.File("lib.so");
  HBBP_BUILD_OR_SKIP(path);
  Analysis profile = AnalyzeOrFail(TinyOfBothFamilies(path));
  const auto set_estimator = [&profile](const EstimatorOptions& estimator) {
    profile = *Analyze(profile.shared_modules(), estimator);
  };
  const auto sources = [&profile] {
    std::vector<SourceKind> kinds;
    for (const BlockRecord& block : profile.blocks()) kinds.push_back(block.source);
    return kinds;
  };
  constexpr SourceKind kEbs = SourceKind::kEbs, kSwbt = SourceKind::kSwbt;
  const double scale = profile.family_scales().ebs;
  CHECK(profile.estimator() == EstimatorKind::kStreams);
  CHECK(sources() == std::vector<SourceKind>{kSwbt, kSwbt, kSwbt});
  CHECK(profile.SupersededOfSource(0) == 20);
  CHECK(profile.SupersededOfSource(1) == 3);

  EstimatorOptions options;
  options.kind = EstimatorKind::kEbs;
  set_estimator(options);
  CHECK(profile.SupersededOfSource(0) == 0);
  for (const BlockRecord& block : profile.blocks()) CHECK(block.source == kEbs);
  const std::vector<BlockRecord> by_samples = profile.blocks();
  ProfileData samples_only = TinyProfile(path);
  const Analysis unscaled = AnalyzeOrFail(samples_only);
  REQUIRE(by_samples.size() == unscaled.blocks().size());
  for (size_t i = 0; i < by_samples.size(); ++i) {
    CHECK(by_samples[i].estimate.count == Approx(scale * unscaled.blocks()[i].estimate.count));
    CHECK(by_samples[i].estimate.standard_error ==
          Approx(scale * unscaled.blocks()[i].estimate.standard_error));
  }

  set_estimator(TreeOf(R"({"format": "hbbp-tree", "version": 1, "nodes": [
      {"feature": "length", "threshold": 2, "yes": 1, "no": 2},
      {"class": "streams"},
      {"feature": "taken_ratio", "threshold": 0, "yes": 3, "no": 4},
      {"class": "streams"}, {"class": "ebs"}]})"));
  CHECK(profile.estimator() == EstimatorKind::kTree);
  // tiny_twice, which no stream crossed, is present with a count of 0.
  CHECK(sources() == std::vector<SourceKind>{kSwbt, kEbs, kSwbt, kSwbt});
  CHECK(profile.blocks()[0].estimate.count == 750);
  CHECK(profile.blocks()[1].estimate.count == Approx(by_samples[1].estimate.count));
  CHECK(profile.blocks()[2].estimate.count == 500);
  CHECK(profile.blocks()[3].estimate.count == 0);
  double instructions = 0;
  for (const BlockRecord& block : profile.blocks()) {
    instructions += block.estimate.count * block.block.instruction_count;
  }
  double by_function = 0;
  for (const FunctionRecord& function : profile.functions()) by_function += function.instructions;
  CHECK(by_function == Approx(instructions));

  set_estimator({});
  CHECK(sources() == std::vector<SourceKind>{kSwbt, kSwbt, kSwbt});
  CHECK(profile.SupersededOfSource(0) == 20);
  CHECK(profile.UnexplainedOfSource(0) == 0);
}

TEST_CASE("by flow, all sources count together, and what flows in flows out") {
  const TemporaryFolder directory;
  const std::string path = directory.File("lib.so");
  HBBP_BUILD_OR_SKIP(path);
  EstimatorOptions flow;
  flow.kind = EstimatorKind::kFlow;
  const Analysis profile = AnalyzeOrFail(TinyOfBothFamilies(path), {.estimator = flow});
  CHECK(profile.estimator() == EstimatorKind::kFlow);
  const std::vector<BlockRecord>& blocks = profile.blocks();
  REQUIRE(blocks.size() == 4);
  double instructions = 0, by_function = 0, by_thread = 0;
  for (const BlockRecord& block : blocks) {
    CHECK(block.source == SourceKind::kCombined);
    CHECK(block.estimate.count > 0);
    CHECK(block.estimate.standard_error > 0);
    instructions += block.estimate.count * block.block.instruction_count;
  }
  // The blocks of tiny_work are entry, loop, return.
  CHECK(blocks[0].estimate.count == Approx(blocks[2].estimate.count).epsilon(1e-6));
  CHECK(blocks[1].estimate.count > blocks[0].estimate.count);
  CHECK(profile.SupersededOfSource(0) == 0);
  for (const FunctionRecord& function : profile.functions()) by_function += function.instructions;
  CHECK(by_function == Approx(instructions));
  for (const StreamContribution& part : profile.stream_contributions()) {
    by_thread += part.sums.weights * blocks[part.block].block.instruction_count;
  }
  CHECK(by_thread == Approx(instructions));
  for (const bool thread : {false, true}) {
    CHECK(ComputeMixOrFail(profile, {.mnemonic = true, .thread = thread}).total ==
          Approx(instructions));
  }
}

TEST_CASE("where EBS counts instructions next to LBR, both count together") {
  const TemporaryFolder directory;
  const std::string path = directory.File("lib.so");
  HBBP_BUILD_OR_SKIP(path);
  ProfileData data = TinyOfBothFamilies(path);
  data.sources[0].event = EventKind::kInstructions;
  data.sources[1].event = EventKind::kInstructions;
  data.sources[2].event = EventKind::kTakenBranches;
  data.sources[2].kind = SourceKind::kLbr;
  const Analysis profile = AnalyzeOrFail(data);
  CHECK(profile.estimator() == EstimatorKind::kFlow);
  CHECK(profile.family_scales().ebs == 1);
  CHECK(profile.family_scales().streams == 1);
  for (const BlockRecord& block : profile.blocks()) CHECK(block.source == SourceKind::kCombined);
}

TEST_CASE("features of a block are those of its code and of both families") {
  const TemporaryFolder directory;
  const std::string path = directory.File("lib.so");
  HBBP_BUILD_OR_SKIP(path);
  const Analysis profile = AnalyzeOrFail(TinyOfBothFamilies(path));
  REQUIRE(profile.blocks().size() == 3);
  const BlockRecord& loop = profile.blocks()[1];
  const BlockFeatures features = profile.FeaturesOf(loop);
  CHECK(features[Feature::kLength] == 3);
  CHECK(features[Feature::kBytes] == static_cast<double>(loop.block.end - loop.block.start));
  CHECK(features[Feature::kPreviousLength] == 2);
  CHECK(features[Feature::kNextLength] == 1);
  CHECK(features[Feature::kLongLatencyShare] == 0);
  CHECK(features[Feature::kBiased] == 0);
  // Of the 13 streams across the loop, 2 continue into the return.
  CHECK(features[Feature::kTakenRatio] == Approx(1 - 500.0 / 3250));
  CHECK(features[Feature::kStreamsCount] / features[Feature::kStreamsError] ==
        Approx(loop.families.streams.count / loop.families.streams.standard_error));
  double sum = 0;
  for (const BlockRecord& block : profile.blocks()) {
    const BlockFeatures all = profile.FeaturesOf(block);
    sum += all[Feature::kEbsCount] + all[Feature::kStreamsCount];
  }
  // The mean is over observed blocks, and tiny_twice has no record here.
  CHECK(sum > 2 * 3);
  CHECK(sum < 2 * 4);
}

TEST_CASE("samples of different events are not added up") {
  const TemporaryFolder directory;
  const std::string path = directory.File("lib.so");
  HBBP_BUILD_OR_SKIP(path);
  ProfileData data = TinyProfile(path);
  data.sources[0].event = EventKind::kCycles;
  data.sources[0].event_name = "cycles:u";
  data.sources[1].event = EventKind::kInstructions;
  data.sources[1].event_name = "instructions:u";
  data.sources[0].unmapped = 7;
  const Analysis by_best = AnalyzeOrFail(data);
  REQUIRE(by_best.blocks().size() == 1);
  CHECK(by_best.blocks()[0].samples == 3);
  CHECK(by_best.blocks()[0].estimate.count == Approx(3 * 1000 / 3.0));
  CHECK_FALSE(by_best.IsCounted(0));
  CHECK(by_best.IsCounted(1));

  AnalysisOptions options;
  options.estimator.event = "cycles";
  const Analysis by_cycles = AnalyzeOrFail(data, options);
  REQUIRE(by_cycles.blocks().size() == 3);
  CHECK(by_cycles.blocks()[1].samples == 15);
  CHECK(by_cycles.blocks()[1].estimate.count == Approx(15 * 1000 / 3.0));
  CHECK(by_cycles.contributions().size() == by_cycles.data().counts.size());

  options.estimator.event = "branches";
  const StatusOr<Analysis> none = Analyze(data, options);
  REQUIRE_FALSE(none.ok());
  CHECK(none.status().code() == StatusCode::kNotFound);
  CHECK(none.status().message() ==
        "no samples of event 'branches'; the profile has samples of: cycles:u, instructions:u");
}

TEST_CASE("sources of streams that were merged add up") {
  const TemporaryFolder directory;
  const std::string path = directory.File("lib.so");
  HBBP_BUILD_OR_SKIP(path);
  ProfileData data = TinyStreams(path);
  data.sources.push_back(data.sources[0]);
  data.sources[1].period = 2 * kTinyPeriod;
  const uint64_t work = TinyWorkOffset(path);
  data.branches.push_back(
      MakeBranch(1, 1, 0, work + 11, 0, work + kTinyLoop, work + 11, 2, 2 * kTinyPeriod));
  Normalize(&data.branches);
  const Analysis profile = AnalyzeOrFail(data);
  CHECK(profile.blocks()[1].estimate.count == 3250 + 2 * 500);
  CHECK(profile.blocks()[1].samples == 15);
}

// Records a library that is sampled while it is mapped, with changes to its file before and after.
ProfileData RecordTiny(const std::string& path, const std::function<void()>& before_sample,
                       const std::function<void()>& after_sample) {
  const LoadedLibrary library(path);
  Recorder recorder;
  SourceRecord ebs;
  ebs.kind = SourceKind::kEbs;
  recorder.AddSource(ebs);
  REQUIRE(recorder.locator().AddCurrentMappings(1).ok());
  before_sample();
  IpSample sample;
  sample.ip = {library.AddressOf("tiny_work") + kTinyLoop};
  sample.time_ns = 2;
  sample.period = 3000;
  recorder.OnSample(sample);
  recorder.Commit(2);
  after_sample();
  return recorder.Snapshot();
}

ProfileData SaveAndLoad(ProfileData data, const std::string& path) {
  for (ModuleRecord& module : data.modules) EmbedIfUnreachable(&module);
  (void)SaveProfile(data, path);
  return std::move(LoadProfile(path)).value();
}

void CheckTinyLoop(const ProfileData& data) {
  const Analysis profile = AnalyzeOrFail(data);
  REQUIRE(profile.blocks().size() == 1);
  CHECK(profile.blocks()[0].block.instruction_count == 3);
  CHECK(profile.blocks()[0].block.end - profile.blocks()[0].block.start == kTinyReturn - kTinyLoop);
  CHECK(profile.blocks()[0].estimate.count == Approx(1000));
}

TEST_CASE("code is found whatever happened to the file while it was mapped") {
  const auto nothing = [] {};
  for (const char* flags : {"-Wl,--build-id", "-Wl,--build-id=none"}) {
    for (bool early : {true, false}) {
      for (bool replaced : {true, false}) {
        CAPTURE(flags, early, replaced);
        const TemporaryFolder directory;
        const std::string path = directory.File("lib.so");
        HBBP_BUILD_OR_SKIP(path, "old", flags);
        const std::string no_code = directory.Write("no_code.s", ".text\n.zero 4096, 0xcc\n");
        REQUIRE(RunCommand("cc -shared -nostdlib " + std::string(flags) + " -o " +
                           directory.File("new.so") + " " + no_code));
        const auto happen = [&] {
          if (replaced) {
            std::filesystem::rename(directory.File("new.so"), path);
          } else {
            std::filesystem::remove(path);
          }
        };
        const ProfileData data =
            early ? RecordTiny(path, happen, nothing) : RecordTiny(path, nothing, happen);
        CheckTinyLoop(data);
        CheckTinyLoop(SaveAndLoad(data, directory.File("profile")));
      }
    }
  }
}

}  // namespace
}  // namespace hbbp
