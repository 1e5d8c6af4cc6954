// Tests the loops of an analysis: entries, iterations and trip counts with their errors, from
// samples, from streams and by each estimator. The functions are generated code of a few
// instructions. LoopTest has such code with its samples and streams; most tests use the nest of two
// loops that AddNest() adds.
#include "analysis/profile_loops.h"

#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "support/analyze_or_fail.h"
#include "support/catch.h"
#include "unit/profile/sample_profiles.h"

namespace hbbp {
namespace {

constexpr uint64_t kPeriod = 1000;

// Has generated code, with EBS as source 0 and SWBT as source 1.
class LoopTest {
 public:
  LoopTest() {
    data_.modules.resize(1);
    data_.modules[0].kind = ModuleKind::kAnonymous;
    data_.modules[0].path = "[anonymous]";
    data_.threads.resize(1);
    data_.sources.resize(2);
    data_.sources[0].kind = SourceKind::kEbs;
    data_.sources[0].event = EventKind::kInstructions;
    data_.sources[1].kind = SourceKind::kSwbt;
  }

  void AddFunction(uint64_t address, std::vector<uint8_t> bytes) {
    data_.modules[0].chunks.push_back({address, std::move(bytes), "f" + std::to_string(address)});
  }

  // Adds samples so that a block of `instructions` at `address` counts `count`.
  void Sample(uint64_t address, uint64_t instructions, uint64_t count) {
    IpCount sample = MakeCount(0, 0, 0, address, count, kPeriod);
    sample.period_sum = static_cast<double>(count * instructions);
    sample.period_squares = sample.period_sum;
    data_.counts.push_back(sample);
  }

  // Adds `number` streams that count 1 each, all in replicate number % 16.
  void Stream(uint64_t from, uint64_t to, uint64_t end, uint64_t number, uint32_t from_module = 0) {
    BranchCount branch;
    branch.source = 1;
    branch.from_module = from_module;
    branch.from = from;
    branch.to = to;
    branch.stream_end = end;
    branch.number = number;
    branch.weights = static_cast<double>(number);
    branch.replicates.sums[number % kReplicates] = static_cast<float>(number);
    data_.branches.push_back(branch);
  }

  Analysis Analyze(const EstimatorOptions& estimator = {}) {
    Normalize(&data_.counts);
    Normalize(&data_.branches);
    return AnalyzeOrFail(data_, {.estimator = estimator});
  }

 private:
  ProfileData data_;
};

const LoopRecord* LoopAt(const ProfileLoops& loops, uint64_t header) {
  for (const LoopRecord& loop : loops.loops) {
    if (loop.header.value == header) return &loop;
  }
  return nullptr;
}

constexpr uint64_t kOuter = 0x1002;
constexpr uint64_t kInner = 0x1007;

void AddNest(LoopTest* test) {
  test->AddFunction(0x1000, {0x31, 0xc0,                    // 1000: xor %eax,%eax
                             0xb9, 0x07, 0x00, 0x00, 0x00,  // 1002: mov $7,%ecx
                             0xff, 0xc9,                    // 1007: dec %ecx
                             0x75, 0xfc,                    // 1009: jnz 0x1007
                             0xff, 0xcf,                    // 100b: dec %edi
                             0x75, 0xf3,                    // 100d: jnz 0x1002
                             0xc3});                        // 100f: ret
}

// Adds the streams of 10 calls of 10 trips of 7.
void AddStreamsOfNest(LoopTest* test) {
  test->Stream(0xdead, 0x1000, 0x1009, 10, kNoModule);
  test->Stream(0x1009, kInner, 0x1009, 500);
  test->Stream(0x1009, kInner, 0x100d, 90);
  test->Stream(0x1009, kInner, 0x100f, 10);
  test->Stream(0x100d, kOuter, 0x1009, 90);
}

TEST_CASE("counts of blocks show how often loops iterate") {
  LoopTest test;
  AddNest(&test);
  test.Sample(0x1000, 1, 10);
  test.Sample(kOuter, 1, 100);
  test.Sample(kInner, 2, 700);
  test.Sample(0x100b, 2, 100);
  test.Sample(0x100f, 1, 10);
  const ProfileLoops loops = FindProfileLoops(test.Analyze());
  REQUIRE(loops.loops.size() == 2);

  const LoopRecord& outer = loops.loops[0];
  CHECK(outer.header.value == kOuter);
  CHECK(outer.depth == 1);
  CHECK(outer.blocks == 3);
  CHECK(outer.parent == kNoIndex);
  CHECK(outer.iterations.count == Approx(100));
  CHECK(outer.entries.count == Approx(10));
  CHECK(outer.trips_by_counts.value == Approx(10));
  CHECK(outer.trips_by_counts.standard_error > 1);
  CHECK(outer.trips_by_branches.value == 0);
  CHECK(outer.instructions.count == Approx(100 + 1400 + 200));
  CHECK(outer.own_instructions.count == Approx(100 + 200));

  const LoopRecord& inner = loops.loops[1];
  CHECK(inner.header.value == kInner);
  CHECK(inner.depth == 2);
  CHECK(inner.parent == 0);
  CHECK(inner.trips().value == Approx(7));
  CHECK(inner.entries.count == Approx(100));
  CHECK(inner.instructions.count == Approx(1400));
  CHECK(loops.innermost == std::vector<uint32_t>{kNoIndex, 0, 1, 0, kNoIndex});
}

TEST_CASE("taken branches and streams show how often loops iterate") {
  LoopTest test;
  AddNest(&test);
  AddStreamsOfNest(&test);
  const ProfileLoops loops = FindProfileLoops(test.Analyze());
  const LoopRecord* outer = LoopAt(loops, kOuter);
  const LoopRecord* inner = LoopAt(loops, kInner);
  REQUIRE(outer != nullptr);
  REQUIRE(inner != nullptr);
  CHECK(outer->trips_by_branches.value == Approx(10));
  CHECK(inner->trips_by_branches.value == Approx(7));
  CHECK(inner->iterations.count == Approx(700));
  CHECK(inner->entries.count == Approx(100));
  // The same counts determine all edges.
  CHECK(outer->trips_by_counts.value == Approx(10));
  CHECK(inner->trips_by_counts.value == Approx(7));
  // All streams are of one burst, which cannot show how far another one would be from it.
  CHECK(inner->trips_by_branches.standard_error ==
        Approx(std::hypot(7, inner->trips_by_counts.standard_error)));
}

TEST_CASE("a loop that seems to be left more rarely than entered has an uncertain trip count") {
  const auto trips = [](uint64_t leaves) {
    LoopTest test;
    test.AddFunction(0x2000, {0xff, 0xc9,  // 2000: dec %ecx
                              0x75, 0xfc,  // 2002: jnz 0x2000
                              0xc3});      // 2004: ret
    for (uint64_t i = 0; i < kReplicates; ++i) {
      test.Stream(0xdead, 0x2000, 0x2002, 320 + i, kNoModule);
      test.Stream(0x2002, 0x2000, 0x2002, 10'240 + i);
      test.Stream(0x2002, 0x2000, 0x2004, leaves + i);
    }
    const ProfileLoops loops = FindProfileLoops(test.Analyze());
    const LoopRecord* const loop = LoopAt(loops, 0x2000);
    REQUIRE(loop != nullptr);
    return loop->trips_by_branches;
  };
  const Ratio balanced = trips(320);
  CHECK(balanced.value == Approx(34).epsilon(0.05));
  CHECK(balanced.standard_error < 0.2 * balanced.value);
  const Ratio unbalanced = trips(32);
  CHECK(unbalanced.standard_error > 0.8 * unbalanced.value);
}

TEST_CASE("every estimator has loops") {
  LoopTest test;
  AddNest(&test);
  AddStreamsOfNest(&test);
  for (const EstimatorKind kind :
       {EstimatorKind::kStreams, EstimatorKind::kFlow, EstimatorKind::kTree}) {
    EstimatorOptions options;
    options.kind = kind;
    const Analysis profile = test.Analyze(options);
    const ProfileLoops loops = FindProfileLoops(profile);
    const LoopRecord* inner = LoopAt(loops, kInner);
    REQUIRE(inner != nullptr);
    CHECK(inner->trips().value == Approx(7).epsilon(0.01));
    CHECK(loops.innermost.size() == profile.blocks().size());
  }
}

TEST_CASE("a jump through a pointer makes a loop where it was seen to") {
  LoopTest test;
  test.AddFunction(0x2000, {0x31, 0xc0,  // 2000: xor %eax,%eax
                            0xff, 0xc1,  // 2002: inc %ecx
                            0xff, 0xe2,  // 2004: jmp *%rdx
                            0xff, 0xc1,  // 2006: inc %ecx
                            0xc3});      // 2008: ret
  test.Stream(0xdead, 0x2000, 0x2004, 5, kNoModule);
  test.Stream(0x2004, 0x2006, 0x2008, 5);
  CHECK(FindProfileLoops(test.Analyze()).loops.empty());
  test.Stream(0x2004, 0x2002, 0x2004, 15);
  const ProfileLoops loops = FindProfileLoops(test.Analyze());
  REQUIRE(loops.loops.size() == 1);
  CHECK(loops.loops[0].header.value == 0x2002);
  CHECK(loops.loops[0].trips_by_branches.value == Approx(4));
}

TEST_CASE("what returns from a call before a loop enters it, what returns within does not") {
  LoopTest test;
  test.AddFunction(0x4000, {0xe8, 0x1b, 0x00, 0x00, 0x00,  // 4000: call 0x4020
                            0xe8, 0x16, 0x00, 0x00, 0x00,  // 4005: call 0x4020
                            0xff, 0xcf,                    // 400a: dec %edi
                            0x75, 0xf7,                    // 400c: jnz 0x4005
                            0xc3});                        // 400e: ret
  test.AddFunction(0x4020, {0xc3});
  test.Stream(0xdead, 0x4000, 0x4000, 10, kNoModule);
  test.Stream(0x4000, 0x4020, 0x4020, 10);
  test.Stream(0x4005, 0x4020, 0x4020, 30);
  test.Stream(0x4020, 0x4005, 0x4005, 10);
  test.Stream(0x400c, 0x4005, 0x4005, 20);
  test.Stream(0x4020, 0x400a, 0x400c, 20);
  test.Stream(0x4020, 0x400a, 0x400e, 10);
  const ProfileLoops loops = FindProfileLoops(test.Analyze());
  REQUIRE(loops.loops.size() == 1);
  const LoopRecord& loop = loops.loops[0];
  CHECK(loop.header.value == 0x4005);
  CHECK(loop.blocks == 2);
  CHECK(loop.trips_by_branches.value == Approx(3));
  CHECK(loop.trips_by_counts.value == Approx(3));
  CHECK(loop.instructions.count == Approx(30 + 60));
}

TEST_CASE("an irreducible region has instructions and no trip count") {
  LoopTest test;
  test.AddFunction(0x5000, {0x85, 0xff,  // 5000: test %edi,%edi
                            0x74, 0x02,  // 5002: jz 0x5006
                            0xff, 0xc1,  // 5004: inc %ecx
                            0xff, 0xcf,  // 5006: dec %edi
                            0x75, 0xfa,  // 5008: jnz 0x5004
                            0xc3});      // 500a: ret
  test.Sample(0x5000, 2, 10);
  test.Sample(0x5004, 1, 100);
  test.Sample(0x5006, 2, 105);
  const ProfileLoops loops = FindProfileLoops(test.Analyze());
  REQUIRE(loops.loops.size() == 1);
  const LoopRecord& region = loops.loops[0];
  CHECK(region.is_irreducible);
  CHECK(region.trips().value == 0);
  CHECK(region.entries.count == 0);
  CHECK(region.instructions.count == Approx(100 + 210));
}

TEST_CASE("a loop that was never seen to be entered has no trip count") {
  LoopTest test;
  AddNest(&test);
  test.Stream(0x1009, kInner, 0x1009, 500);
  const ProfileLoops loops = FindProfileLoops(test.Analyze());
  const LoopRecord* inner = LoopAt(loops, kInner);
  REQUIRE(inner != nullptr);
  CHECK(inner->iterations.count == Approx(500));
  CHECK(inner->trips().value == 0);
  CHECK(inner->entries.count == 0);
}

}  // namespace
}  // namespace hbbp
