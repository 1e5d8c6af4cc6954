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

}  // namespace
}  // namespace hbbp
