// Tests BranchStackBursts on stacks made here: how entries that are not branches cut them, what is
// reported of each part, and their extents, in streams and in cycles.
#include "perf/branch_stack_bursts.h"

#include <cstring>
#include <vector>

#include "support/catch.h"

namespace hbbp {
namespace {

constexpr uint64_t kWrongPath = uint64_t{1} << 24;

struct Entry {
  uint64_t from, to, flags;
};

struct Part {
  std::vector<uint64_t> sources;
  uint64_t extent;
  bool operator==(const Part&) const = default;
};

// `entries` newest first, as the kernel has them.
std::vector<Part> FindParts(const std::vector<Entry>& entries, BranchStackLosses* losses = nullptr,
                            std::vector<StackPart>* stacks = nullptr) {
  std::vector<uint8_t> bytes(entries.size() * sizeof(Entry));
  if (!entries.empty()) std::memcpy(bytes.data(), entries.data(), bytes.size());
  const BranchStack stack(bytes, BranchStack::kNoHardwareIndex, {}, ByteOrder::kNative);
  BranchStackBursts bursts;
  std::vector<Part> parts;
  bursts.Visit(stack, [&](auto branches, uint64_t extent, StackPart stack_part) {
    Part part = {{}, extent};
    if (stacks != nullptr) stacks->push_back(stack_part);
    for (const TakenBranch& branch : branches) part.sources.push_back(branch.from);
    parts.push_back(part);
  });
  if (losses != nullptr) *losses = bursts.losses();
  return parts;
}

TEST_CASE("a stack is one burst, its oldest branch first") {
  CHECK(FindParts({{3, 30, 0}, {2, 20, 0}, {1, 10, 0}}) == std::vector<Part>{{{1, 2, 3}, 2}});
  CHECK(FindParts({}).empty());
}

TEST_CASE("empty slots at its end make it shorter") {
  BranchStackLosses losses;
  const auto parts = FindParts({{2, 20, 0}, {1, 10, 0}, {0, 0, 0}, {0, 0, 0}}, &losses);
  CHECK(parts == std::vector<Part>{{{1, 2}, 1}});
  CHECK(losses.empty == 2);
}

TEST_CASE("what lies on both sides of a branch that did not happen is not one stream") {
  BranchStackLosses losses;
  const auto parts = FindParts(
      {{5, 50, 0}, {4, 40, 0}, {3, 30, 0}, {9, 90, kWrongPath}, {2, 20, 0}, {1, 10, 0}}, &losses);
  CHECK(parts == std::vector<Part>{{{1, 2}, 3}, {{3, 4, 5}, 3}});
  CHECK(losses.speculative == 1);
}

constexpr uint64_t kKernel = 0xffffffff81000000;
constexpr uint64_t kAborted = uint64_t{1} << 3;

TEST_CASE("no stream begins in the kernel and ends in user code") {
  BranchStackLosses losses;
  std::vector<StackPart> stacks;
  const auto parts = FindParts({{5, 50, 0},
                                {4, 40, 0},
                                {3, kKernel, 0},  // a system call, whose return is not there
                                {2, 20, 0},
                                {1, 10, 0}},
                               &losses, &stacks);
  CHECK(parts == std::vector<Part>{{{1, 2, 3}, 3}, {{4, 5}, 3}});
  CHECK(losses.crossing_streams == 1);
  CHECK(stacks[0].is_continued);
  CHECK_FALSE(stacks[1].is_continued);
}

TEST_CASE("a way into the kernel and back that is all there cuts nothing") {
  BranchStackLosses losses;
  const auto parts = FindParts(
      {{5, 50, 0}, {kKernel + 9, 4, 0}, {kKernel + 2, kKernel + 8, 0}, {3, kKernel, 0}, {1, 10, 0}},
      &losses);
  CHECK(parts.size() == 1);
  CHECK(losses.crossing_streams == 0);
}

TEST_CASE("entries without source or target and aborts of transactions are not branches") {
  BranchStackLosses losses;
  const auto parts = FindParts(
      {{5, 50, 0}, {4, 40, 0}, {9, 90, kAborted}, {0, 30, 0}, {2, 0, 0}, {1, 10, 0}}, &losses);
  CHECK(parts == std::vector<Part>{{{1}, 1}, {{4, 5}, 1}});
  CHECK(losses.half_empty == 2);
  CHECK(losses.aborts == 1);
}

TEST_CASE("the oldest entry of a stack is reported") {
  std::vector<StackPart> stacks;
  FindParts({{4, 40, 0}, {3, 30, 0}, {9, 90, kWrongPath}, {1, 10, 0}, {0, 0, 0}}, nullptr, &stacks);
  REQUIRE(stacks.size() == 2);
  CHECK(stacks[0].entries == 4);
  CHECK(stacks[0].has_oldest);
  CHECK(stacks[1].entries == 4);
  CHECK_FALSE(stacks[1].has_oldest);
}

TEST_CASE("a stack whose oldest entry was left out says nothing of the oldest") {
  std::vector<StackPart> stacks;
  FindParts({{2, 20, 0}, {1, 10, 0}, {9, 90, kWrongPath}}, nullptr, &stacks);
  REQUIRE(stacks.size() == 1);
  CHECK(stacks[0].entries == 0);
  CHECK_FALSE(stacks[0].has_oldest);
}

TEST_CASE("the streams of all parts are the extent of each") {
  const auto parts = FindParts({{4, 40, 0}, {3, 30, 0}, {0, 0, 0}, {2, 20, 0}, {1, 10, 0}});
  CHECK(parts == std::vector<Part>{{{1, 2}, 2}, {{3, 4}, 2}});
}

TEST_CASE("branches without any stream have no extent") {
  const auto parts = FindParts({{2, 20, 0}, {9, 90, kWrongPath}, {1, 10, 0}});
  CHECK(parts == std::vector<Part>{{{1}, 0}, {{2}, 0}});
}

// Makes a stack whose branches have these cycles, oldest first.
std::vector<Entry> StackOfCycles(const std::vector<uint64_t>& cycles) {
  std::vector<Entry> entries;
  for (uint64_t i = 0; i < cycles.size(); ++i) {
    entries.insert(entries.begin(), {i + 1, 10 * (i + 1), cycles[i] << 4});
  }
  return entries;
}

std::vector<uint64_t> FindExtents(BranchStackBursts* bursts, const std::vector<Entry>& entries) {
  std::vector<uint8_t> bytes(entries.size() * sizeof(Entry));
  if (!entries.empty()) std::memcpy(bytes.data(), entries.data(), bytes.size());
  const BranchStack stack(bytes, BranchStack::kNoHardwareIndex, {}, ByteOrder::kNative);
  std::vector<uint64_t> extents;
  bursts->Visit(stack, [&](auto, uint64_t extent, StackPart) { extents.push_back(extent); });
  return extents;
}

constexpr uint64_t kSaturated = 0xffff;

TEST_CASE("sampled by cycles, the extent is those of the streams, and not of the oldest entry") {
  BranchStackBursts bursts(EventKind::kCycles);
  CHECK(FindExtents(&bursts, StackOfCycles({90, 10, 30, 20})) == std::vector<uint64_t>{60});
  CHECK(bursts.extent_unit() == BurstExtent::kEvents);
}

TEST_CASE("sampled by any other event, cycles are not the extent") {
  for (const EventKind event :
       {EventKind::kTakenBranches, EventKind::kInstructions, EventKind::kOther}) {
    BranchStackBursts bursts(event);
    CHECK(FindExtents(&bursts, StackOfCycles({90, 10, 30, 20})) == std::vector<uint64_t>{3});
    CHECK(bursts.extent_unit() == BurstExtent::kStreams);
    CHECK(bursts.losses().stacks_of_unused_cycles == 0);
  }
}

TEST_CASE("streams without cycles are as long as the others of their stack") {
  BranchStackBursts bursts(EventKind::kCycles);
  CHECK(FindExtents(&bursts, StackOfCycles({90, 10, 0, 30, 20})) == std::vector<uint64_t>{80});
  CHECK(FindExtents(&bursts, StackOfCycles({0, 10, 30})) == std::vector<uint64_t>{40});
  CHECK(FindExtents(&bursts, StackOfCycles({1, 10, kSaturated, 21})) == std::vector<uint64_t>{47});
  CHECK(bursts.losses().stacks_without_cycles == 0);
}

TEST_CASE("stacks that mostly lack cycles are as long as earlier ones") {
  BranchStackBursts bursts(EventKind::kCycles);
  CHECK(FindExtents(&bursts, StackOfCycles({9, 10, 30})) == std::vector<uint64_t>{40});
  CHECK(FindExtents(&bursts, StackOfCycles({9, 300, 0, 0, 0})) == std::vector<uint64_t>{80});
  CHECK(FindExtents(&bursts, StackOfCycles({0, 0})) == std::vector<uint64_t>{20});
  CHECK(FindExtents(&bursts, StackOfCycles({9, 20})) == std::vector<uint64_t>{20});
  CHECK(bursts.losses().stacks_without_cycles == 2);
}

TEST_CASE("the first stack with a stream decides, so that no two units are mixed") {
  BranchStackBursts bursts(EventKind::kCycles);
  CHECK(FindExtents(&bursts, StackOfCycles({500})) == std::vector<uint64_t>{0});
  CHECK(FindExtents(&bursts, StackOfCycles({9, 0, 0, 10})) == std::vector<uint64_t>{3});
  CHECK(FindExtents(&bursts, StackOfCycles({9, 10, 30})) == std::vector<uint64_t>{2});
  CHECK(bursts.extent_unit() == BurstExtent::kStreams);
  Counters counters;
  bursts.losses().AppendTo(&counters);
  CHECK(counters == Counters{{"stacks-of-unused-cycles", 1}});
}

TEST_CASE("another run of the same event goes on with the unit of the first") {
  BranchStackBursts bursts;
  bursts.BeginRun(EventKind::kCycles);
  CHECK(FindExtents(&bursts, StackOfCycles({9, 10, 30})) == std::vector<uint64_t>{40});
  CHECK(FindExtents(&bursts, StackOfCycles({9, 0, 0})) == std::vector<uint64_t>{40});
  bursts.BeginRun(EventKind::kCycles);
  CHECK(bursts.losses().stacks_without_cycles == 0);
  CHECK(FindExtents(&bursts, StackOfCycles({9, 0, 0, 0})) == std::vector<uint64_t>{60});
  bursts.BeginRun(EventKind::kTakenBranches);
  CHECK(FindExtents(&bursts, StackOfCycles({9, 10, 30})) == std::vector<uint64_t>{2});
  CHECK(bursts.extent_unit() == BurstExtent::kStreams);
}

TEST_CASE("all parts of a stack have the cycles of all their streams, and of no others") {
  BranchStackBursts bursts(EventKind::kCycles);
  std::vector<Entry> entries = StackOfCycles({90, 10, 70, 80, 20, 30});
  entries[3].flags |= kWrongPath;  // the 70 and the 80 lead to it and from it
  CHECK(FindExtents(&bursts, entries) == std::vector<uint64_t>{60, 60});
  entries[3] = {0, 0, 0};
  CHECK(FindExtents(&bursts, entries) == std::vector<uint64_t>{60, 60});
}

// Each loop takes as many cycles as the other. An iteration takes 2 or 20, so it is known how many
// there are.
TEST_CASE("loops of other cycles an iteration are counted right by cycles, and wrong by streams") {
  constexpr uint64_t kPeriod = 1'000'003;
  for (const EventKind event : {EventKind::kCycles, EventKind::kOther}) {
    BranchStackBursts bursts(event);
    double iterations[2] = {};
    for (int sample = 0; sample < 1000; ++sample) {
      const bool is_slow = sample % 2 != 0;
      const std::vector<uint64_t> cycles(32, is_slow ? 20 : 2);
      const std::vector<uint64_t> extents = FindExtents(&bursts, StackOfCycles(cycles));
      REQUIRE(extents.size() == 1);
      iterations[is_slow] += 31 * static_cast<double>(kPeriod) / static_cast<double>(extents[0]);
    }
    const double cycles_of_each = 500.0 * kPeriod;
    const bool is_right = event == EventKind::kCycles;
    CHECK(iterations[0] == Approx(is_right ? cycles_of_each / 2 : cycles_of_each));
    CHECK(iterations[1] == Approx(is_right ? cycles_of_each / 20 : cycles_of_each));
  }
}

}  // namespace
}  // namespace hbbp
