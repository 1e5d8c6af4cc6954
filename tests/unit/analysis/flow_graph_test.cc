// Tests CombineByFlow(): how samples and streams of one function are combined so that what flows
// into each block flows out. The functions are a few instructions of machine code each. FlowTest
// has such code with its samples and streams, and returns the combined blocks; CountAt() finds one
// of them.
#include "estimate/flow_graph.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "analysis/block_observations.h"
#include "support/catch.h"
#include "support/fake_module_code.h"
#include "unit/profile/sample_profiles.h"

namespace hbbp {
namespace {

constexpr uint64_t kPeriod = 1000;

// Has a module of its own, with EBS as source 0 and SWBT as source 1.
class FlowTest {
 public:
  FlowTest() {
    data_.modules.resize(2);
    data_.threads.resize(1);
    data_.sources.resize(2);
    data_.sources[0].kind = SourceKind::kEbs;
    data_.sources[0].event = EventKind::kInstructions;
    data_.sources[1].kind = SourceKind::kSwbt;
  }

  void AddFunction(uint64_t address, std::vector<uint8_t> bytes) {
    const uint64_t end = address + bytes.size();
    code_->AddCode(address, std::move(bytes));
    code_->AddFunction(address, end);
  }

  // Adds samples so that a block of `instructions` at `address` counts `count`.
  void Sample(uint64_t address, uint32_t instructions, uint64_t count) {
    data_.counts.push_back(MakeCount(0, 0, 0, address, count * instructions / kPeriod, kPeriod));
  }

  // Adds `number` streams that count 1 each.
  void Stream(uint64_t from, uint64_t to, uint64_t end, uint64_t number, uint32_t from_module = 0) {
    BranchCount branch;
    branch.source = 1;
    branch.from_module = from_module;
    branch.from = from;
    branch.to = to;
    branch.stream_end = end;
    branch.number = number;
    branch.weights = static_cast<double>(number);
    const size_t groups = std::min<size_t>(number, kReplicates);
    for (size_t i = 0; i < groups; ++i) {
      branch.replicates.sums[i] = static_cast<float>(branch.weights / static_cast<double>(groups));
    }
    data_.branches.push_back(branch);
  }

  std::vector<CombinedBlock> Combine(const FlowErrors& errors = {}) {
    Normalize(&data_.counts);
    Normalize(&data_.branches);
    ResolvedModule module;
    FakeModuleCode* code = code_.get();
    module.code = std::move(code_);
    BlockMap map(code);
    std::vector<UnexplainedCounts> unexplained(2);
    const BlockObservations observations = ObserveBlocks(
        data_, {0, data_.counts.size()}, {0, data_.branches.size()}, module, &map, &unexplained);
    CHECK(unexplained == std::vector<UnexplainedCounts>(2));
    std::vector<Contribution> contributions;
    for (const IpCount& count : data_.counts) {
      contributions.push_back({kNoIndex, count.thread, count.source, kNoIndex, count.samples,
                               count.period_sum, count.period_squares});
    }
    return CombineByFlow({.data = data_,
                          .observations = observations,
                          .address_of = [&](uint64_t offset) { return module.AddressOf(offset); },
                          .module_index = 0,
                          .contributions = contributions,
                          .streams_scale = streams_scale},
                         &map, errors);
  }

  double streams_scale = 1;

 private:
  ProfileData data_;
  std::unique_ptr<FakeModuleCode> code_ = std::make_unique<FakeModuleCode>();
};

double CountAt(const std::vector<CombinedBlock>& blocks, uint64_t address) {
  for (const CombinedBlock& block : blocks) {
    if (block.block.start.value == address) return block.count;
  }
  return -1;
}

//   1000: xor eax, eax    1002: dec rax    1005: jnz 1002    1007: ret
const std::vector<uint8_t> kLoop = {0x31, 0xc0, 0x48, 0xff, 0xc8, 0x75, 0xfb, 0xc3};

TEST_CASE("blocks that run equally often share what was sampled in them") {
  FlowTest test;
  test.AddFunction(0x1000, kLoop);
  test.Sample(0x1000, 1, 10'000);
  test.Sample(0x1002, 2, 900'000);
  test.Sample(0x1007, 1, 30'000);
  const auto blocks = test.Combine();
  REQUIRE(blocks.size() == 3);
  CHECK(CountAt(blocks, 0x1000) == Approx(CountAt(blocks, 0x1007)));
  CHECK(CountAt(blocks, 0x1000) > 11'000);
  CHECK(CountAt(blocks, 0x1000) < 29'000);
  CHECK(CountAt(blocks, 0x1002) == Approx(900'000).epsilon(0.01));
  for (const CombinedBlock& block : blocks) {
    const double sum =
        std::accumulate(block.replicates.sums.begin(), block.replicates.sums.end(), 0.0);
    CHECK(sum == Approx(block.count).epsilon(1e-4));
  }
}

TEST_CASE("a block that was never sampled ran if there is no other way") {
  //   2000: test edi, edi   2002: jz 2008   2004: add eax, ecx   2006: jmp 200b
  //   2008: inc ecx   200a: nop   200b: xor eax, eax   200d: ret
  FlowTest test;
  test.AddFunction(
      0x2000, {0x85, 0xff, 0x74, 0x04, 0x01, 0xc8, 0xeb, 0x03, 0xff, 0xc1, 0x90, 0x31, 0xc0, 0xc3});
  test.Sample(0x2000, 2, 100'000);
  test.Sample(0x2008, 2, 30'000);
  test.Sample(0x200b, 2, 100'000);
  const auto blocks = test.Combine();
  REQUIRE(blocks.size() == 4);
  const double then = CountAt(blocks, 0x2004);
  CHECK(then > 20'000);
  CHECK(then + CountAt(blocks, 0x2008) == Approx(CountAt(blocks, 0x2000)));
}

TEST_CASE("a call comes back, or does not") {
  //   3000: nop   3001: call 4000   3006: nop   3007: ret
  const std::vector<uint8_t> caller = {0x90, 0xe8, 0xfa, 0x0f, 0x00, 0x00, 0x90, 0xc3};
  for (const bool returns : {true, false}) {
    FlowTest test;
    test.AddFunction(0x3000, caller);
    test.AddFunction(0x4000, {0x90, 0xc3});
    test.Sample(0x3000, 2, 1'000'000);
    if (returns) test.Sample(0x3006, 2, 800'000);
    const auto blocks = test.Combine();
    const double before = CountAt(blocks, 0x3000);
    const double behind = CountAt(blocks, 0x3006);
    CAPTURE(returns, before, behind);
    if (returns) {
      CHECK(before - behind < 150'000);
    } else {
      CHECK(before == Approx(1'000'000).epsilon(0.01));
      CHECK(behind < 10'000);
    }
    CHECK(CountAt(blocks, 0x4000) == -1);  // nothing was observed in that function
  }
}

TEST_CASE("streams measure edges, and what they did not see follows") {
  FlowTest test;
  test.AddFunction(0x1000, kLoop);
  // The function is entered from elsewhere, iterates and returns.
  test.Stream(0x10, 0x1000, 0x1005, 50, 1);
  test.Stream(0x1005, 0x1002, 0x1005, 900);
  test.Stream(0x1005, 0x1002, 0x1007, 50);
  SECTION("alone") {
    const auto blocks = test.Combine();
    REQUIRE(blocks.size() == 3);
    CHECK(CountAt(blocks, 0x1000) == Approx(50).epsilon(0.01));
    CHECK(CountAt(blocks, 0x1002) == Approx(1000).epsilon(0.01));
    CHECK(CountAt(blocks, 0x1007) == Approx(50).epsilon(0.01));
  }
  SECTION("on another scale") {
    test.streams_scale = 20;
    CHECK(CountAt(test.Combine(), 0x1002) == Approx(20'000).epsilon(0.01));
  }
  SECTION("with samples that are wrong, and known to be") {
    test.streams_scale = 20;
    test.Sample(0x1000, 1, 15'000);
    test.Sample(0x1002, 2, 10'000);
    FlowErrors errors;
    errors.ebs = 0.9;
    const auto blocks = test.Combine(errors);
    CHECK(CountAt(blocks, 0x1000) < 2'500);
    CHECK(CountAt(blocks, 0x1002) == Approx(20'000).epsilon(0.1));
  }
}

TEST_CASE("an indirect jump goes where it was seen to go") {
  //   5000: jmp rax   5002: nop   5003: jmp rax   5005: inc ecx   5007: ret
  FlowTest test;
  test.AddFunction(0x5000, {0xff, 0xe0, 0x90, 0xff, 0xe0, 0xff, 0xc1, 0xc3});
  test.Stream(0x10, 0x5000, 0x5000, 100, 1);
  test.Stream(0x5000, 0x5002, 0x5003, 70);
  test.Stream(0x5003, 0x5005, 0x5007, 70);
  test.Stream(0x5000, 0x5005, 0x5007, 30);
  const auto blocks = test.Combine();
  CHECK(CountAt(blocks, 0x5000) == Approx(100).epsilon(0.02));
  CHECK(CountAt(blocks, 0x5002) == Approx(70).epsilon(0.02));
  CHECK(CountAt(blocks, 0x5005) == Approx(100).epsilon(0.02));
}

TEST_CASE("returns come back behind the call, and recursion leaves the function") {
  //   6000: test edi, edi   6002: jz 6009   6004: call 6000   6009: ret
  FlowTest test;
  test.AddFunction(0x6000, {0x85, 0xff, 0x74, 0x05, 0xe8, 0xf7, 0xff, 0xff, 0xff, 0xc3});
  test.Stream(0x10, 0x6000, 0x6004, 10, 1);
  test.Stream(0x6004, 0x6000, 0x6004, 80);
  test.Stream(0x6004, 0x6000, 0x6002, 10);
  test.Stream(0x6002, 0x6009, 0x6009, 10);
  test.Stream(0x6009, 0x6009, 0x6009, 90);
  const auto blocks = test.Combine();
  REQUIRE(blocks.size() == 3);
  CHECK(CountAt(blocks, 0x6000) == Approx(100).epsilon(0.02));
  CHECK(CountAt(blocks, 0x6004) == Approx(90).epsilon(0.02));
  CHECK(CountAt(blocks, 0x6009) == Approx(100).epsilon(0.02));
}

TEST_CASE("samples of a clock are known to be worse than those of instructions") {
  ProfileData data;
  data.sources.resize(1);
  data.counts.resize(1);
  data.sources[0].kind = SourceKind::kEbs;
  data.sources[0].event = EventKind::kInstructions;
  const double of_instructions = FlowErrorsOf(data).ebs;
  data.sources[0].event = EventKind::kTaskClock;
  CHECK(FlowErrorsOf(data).ebs > 5 * of_instructions);
}

TEST_CASE("samples that disagree with streams beyond chance are trusted less") {
  // The code is that of the test above: 2004 and 2008 are the arms.
  const auto arm = [](uint64_t sampled) {
    constexpr uint64_t kStreams = 1'000'000;
    FlowTest test;
    test.AddFunction(0x2000, {0x85, 0xff, 0x74, 0x04, 0x01, 0xc8, 0xeb, 0x03, 0xff, 0xc1, 0x90,
                              0x31, 0xc0, 0xc3});
    test.Sample(0x2000, 2, 2'000'000);
    test.Sample(0x2004, 2, sampled);
    test.Sample(0x2008, 2, 2'000'000 - sampled);
    test.Sample(0x200b, 2, 2'000'000);
    test.Stream(0x500, 0x2000, 0x2002, kStreams, 1);
    test.Stream(0x2002, 0x2008, 0x200d, kStreams);
    test.Stream(0x500, 0x2000, 0x2006, kStreams, 1);
    test.Stream(0x2006, 0x200b, 0x200d, kStreams);
    return CountAt(test.Combine(), 0x2004);
  };
  // With many of both, samples say 9 to 1, streams 1 to 1.
  CHECK(arm(1'800'000) == Approx(1'000'000).epsilon(0.03));
  // Counts on which both agree stay.
  CHECK(arm(1'000'000) == Approx(1'000'000).epsilon(0.001));
}

TEST_CASE("what falls in from the function before has entered") {
  //   1000: nop   1001: test edi, edi   1003: jz 1000   | 1005: nop   1006: ret
  FlowTest test;
  test.AddFunction(0x1000, {0x90, 0x85, 0xff, 0x74, 0xfb});
  test.AddFunction(0x1005, {0x90, 0xc3});
  test.Stream(0x500, 0x1000, 0x1006, 1000, 1);
  const auto blocks = test.Combine();
  CHECK(CountAt(blocks, 0x1000) == Approx(1000).epsilon(0.01));
  CHECK(CountAt(blocks, 0x1005) == Approx(1000).epsilon(0.01));
}

TEST_CASE("many blocks, few of them sampled, keep what was sampled") {
  // This is a path of 2000 blocks of one jz to the next instruction each, and a return.
  FlowTest test;
  std::vector<uint8_t> code;
  for (int i = 0; i < 2000; ++i) code.insert(code.end(), {0x74, 0x00});
  code.push_back(0xc3);
  test.AddFunction(0x1000, code);
  for (uint64_t i = 0; i < 40; ++i) test.Sample(0x1000 + 100 * i, 1, kPeriod);
  double instructions = 0;
  const auto blocks = test.Combine();
  for (const CombinedBlock& block : blocks) instructions += block.count;
  CHECK(blocks.size() == 2001);
  CHECK(instructions == Approx(40.0 * kPeriod).epsilon(0.1));
}

TEST_CASE("a path that streams hardly crossed ran as often as its samples say") {
  FlowTest test;
  std::vector<uint8_t> code;
  for (int i = 0; i < 2000; ++i) code.insert(code.end(), {0x74, 0x00});
  code.push_back(0xc3);
  test.AddFunction(0x1000, code);
  for (uint64_t i = 0; i < 200; ++i) test.Sample(0x1000 + 20 * i, 1, kPeriod);
  test.streams_scale = 50;
  test.Stream(0x500, 0x1000, 0x1004, 1, 1);
  double instructions = 0;
  for (const CombinedBlock& block : test.Combine()) instructions += block.count;
  CHECK(instructions == Approx(200.0 * kPeriod).epsilon(0.2));
}

TEST_CASE("streams of another function say nothing of this one") {
  FlowTest test;
  test.AddFunction(0x1000, kLoop);
  test.AddFunction(0x2000, {0x90, 0xc3});
  test.Sample(0x1000, 1, 10'000);
  test.Sample(0x1002, 2, 900'000);
  test.Sample(0x1007, 1, 10'000);
  test.Stream(0x500, 0x2000, 0x2001, 1'000'000, 1);
  const auto blocks = test.Combine();
  CHECK(CountAt(blocks, 0x1002) == Approx(900'000).epsilon(0.05));
  CHECK(CountAt(blocks, 0x2000) == Approx(1'000'000).epsilon(0.05));
}

TEST_CASE("nothing observed") { CHECK(FlowTest().Combine().empty()); }

TEST_CASE("numbers that no profile should have") {
  FlowTest test;
  test.AddFunction(0x1000, kLoop);
  test.Sample(0x1000, 1, 10'000);
  test.Sample(0x1002, 2, UINT64_MAX / 2);
  test.streams_scale = 1e300;
  test.Stream(0x1005, 0x1002, 0x1005, UINT64_MAX);
  for (const CombinedBlock& block : test.Combine()) {
    CHECK((block.count >= 0 && std::isfinite(block.count)));
  }
}

}  // namespace
}  // namespace hbbp
