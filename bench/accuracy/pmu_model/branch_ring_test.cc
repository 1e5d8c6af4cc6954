#include "pmu_model/branch_ring.h"

#include "support/catch.h"

namespace hbbp::simulation {
namespace {

PmuParameters Depth(uint32_t depth, double sticky_share = 0, double sticky_chance = 0) {
  PmuParameters parameters;
  parameters.lbr_depth = depth;
  parameters.sticky_share = sticky_share;
  parameters.sticky_chance = sticky_chance;
  return parameters;
}

BranchPair Branch(uint64_t number) { return {number, number + 100}; }

TEST_CASE("a stack is the last branches, newest first") {
  BranchRing ring(Depth(3));
  CHECK(ring.Read().empty());
  ring.Push(Branch(1));
  CHECK(ring.Read() == std::vector{Branch(1)});
  for (uint64_t i = 2; i <= 10; ++i) ring.Push(Branch(i));
  CHECK(ring.Read() == std::vector{Branch(10), Branch(9), Branch(8)});
}

TEST_CASE("a sticky branch stays the oldest while others go") {
  BranchRing always(Depth(3, 1, 1));
  for (uint64_t i = 1; i <= 10; ++i) always.Push(Branch(i));
  CHECK(always.Read() == std::vector{Branch(10), Branch(9), Branch(1)});
  BranchRing never(Depth(3, 1, 0));
  for (uint64_t i = 1; i <= 10; ++i) never.Push(Branch(i));
  CHECK(never.Read() == std::vector{Branch(10), Branch(9), Branch(8)});
}

TEST_CASE("the share of sticky branches, and how often they are the oldest") {
  PmuParameters parameters = Depth(4, 0.1, 0.5);
  BranchRing ring(parameters);
  constexpr uint64_t kBranches = 2000;
  uint64_t sticky = 0;
  for (uint64_t i = 0; i < kBranches; ++i) sticky += ring.IsSticky(i) ? 1 : 0;
  CHECK(static_cast<double>(sticky) / kBranches == Approx(0.1).epsilon(0.25));
  uint64_t oldest = 0, stacks = 0;
  for (uint64_t i = 0; i < 50 * kBranches; ++i) {
    ring.Push(Branch(i % kBranches));
    const std::vector<BranchPair> stack = ring.Read();
    if (stack.size() < 4) continue;
    ++stacks;
    if (ring.IsSticky(stack.back().from)) ++oldest;
  }
  // It stays once more with a chance of 1/2, so it is there for two branches instead of one.
  const double share = static_cast<double>(sticky) / kBranches;
  CHECK(static_cast<double>(oldest) / static_cast<double>(stacks) ==
        Approx(2 * share / (1 + share)).epsilon(0.05));
}

TEST_CASE("the oldest entry repeats the next one") {
  PmuParameters parameters = Depth(3);
  parameters.repeat_chance = 1;
  BranchRing ring(parameters);
  for (uint64_t i = 1; i <= 5; ++i) ring.Push(Branch(i));
  CHECK(ring.Read() == std::vector{Branch(5), Branch(4), Branch(4)});
}

}  // namespace
}  // namespace hbbp::simulation
