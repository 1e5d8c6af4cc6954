#include "backends/branch_predictor.h"

#include <algorithm>
#include <vector>

#include "support/catch.h"

namespace hbbp {
namespace {

using Outcome = BranchPredictor::Outcome;

constexpr uint64_t kSkip = 0x1000, kAgain = 0x2000, kDispatch = 0x3000;

struct Outcomes {
  size_t unknown = 0, predicted = 0, mispredicted = 0;

  void Add(Outcome outcome) {
    if (outcome == Outcome::kUnknown) ++unknown;
    if (outcome == Outcome::kPredicted) ++predicted;
    if (outcome == Outcome::kMispredicted) ++mispredicted;
  }
};

class Random {
 public:
  unsigned Below(unsigned limit) {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return static_cast<unsigned>((state_ >> 40) % limit);
  }

 private:
  uint64_t state_ = 88172645463325252;
};

// Each round of a loop has a branch that skips something or not.
Outcomes Loop(const std::vector<bool>& skips, BranchPredictor* predictor) {
  Outcomes outcomes;
  predictor->StartBurst();
  for (const bool skip : skips) {
    outcomes.Add(predictor->AddConditional(kSkip, skip));
    if (skip) predictor->AddToHistory({kSkip, kSkip + 32});
    outcomes.Add(predictor->AddConditional(kAgain, true));
    predictor->AddToHistory({kAgain, kSkip - 16});
  }
  return outcomes;
}

Outcomes Dispatch(const std::vector<unsigned>& operations, BranchPredictor* predictor) {
  Outcomes outcomes;
  predictor->StartBurst();
  for (const unsigned operation : operations) {
    const uint64_t target = 0x4000 + 64 * operation;
    outcomes.Add(predictor->AddIndirect(kDispatch, target));
    predictor->AddToHistory({kDispatch, target});
  }
  return outcomes;
}

TEST_CASE("branches that always go the same way are predicted, and unknown at first") {
  for (const bool skip : {false, true}) {
    BranchPredictor predictor;
    const Outcomes outcomes = Loop(std::vector<bool>(100, skip), &predictor);
    CHECK(outcomes.mispredicted == 0);
    CHECK(outcomes.unknown == 2);
    CHECK(outcomes.predicted == 198);
  }
}

TEST_CASE("a branch that follows from those before it is predicted") {
  std::vector<bool> skips(2000);
  for (size_t round = 0; round < skips.size(); round += 4) skips[round] = true;
  BranchPredictor predictor;
  (void)Loop(skips, &predictor);
  const Outcomes outcomes = Loop(skips, &predictor);
  CHECK(outcomes.mispredicted < outcomes.predicted / 50);
}

TEST_CASE("of random branches, the rarer side is mispredicted") {
  for (const unsigned sides : {2u, 4u, 16u}) {
    Random random;
    std::vector<bool> skips(8000);
    std::generate(skips.begin(), skips.end(), [&] { return random.Below(sides) == 0; });
    BranchPredictor predictor;
    (void)Loop(skips, &predictor);
    const Outcomes outcomes = Loop(skips, &predictor);
    // No way to predict them is better; this one is not much worse.
    const double min_mispredicted = 8000.0 / sides;
    CHECK(static_cast<double>(outcomes.mispredicted) > 0.8 * min_mispredicted);
    CHECK(static_cast<double>(outcomes.mispredicted) < 1.6 * min_mispredicted);
  }
}

TEST_CASE("a random branch is mispredicted when it is not taken, too") {
  Random random;
  BranchPredictor predictor;
  Outcomes taken, not_taken;
  for (int round = 0; round < 8000; ++round) {
    const bool is_taken = random.Below(2) == 0;
    (is_taken ? taken : not_taken).Add(predictor.AddConditional(kSkip, is_taken));
  }
  CHECK(taken.mispredicted > 1600);
  CHECK(not_taken.mispredicted > 1600);
}

TEST_CASE("an indirect branch is predicted by its history") {
  std::vector<unsigned> operations;
  for (int round = 0; round < 500; ++round) operations.insert(operations.end(), {1, 2, 1, 3});
  BranchPredictor predictor;
  (void)Dispatch(operations, &predictor);
  const Outcomes outcomes = Dispatch(operations, &predictor);
  CHECK(outcomes.mispredicted < outcomes.predicted / 50);
}

TEST_CASE("of an indirect branch to random targets, most are mispredicted") {
  Random random;
  std::vector<unsigned> operations(4000);
  std::generate(operations.begin(), operations.end(), [&] { return random.Below(8); });
  BranchPredictor predictor;
  const Outcomes outcomes = Dispatch(operations, &predictor);
  CHECK(outcomes.mispredicted > 2800);
}

TEST_CASE("bursts teach one another, but their histories are not connected") {
  BranchPredictor predictor;
  // Each burst is one indirect branch behind one other branch, which says where it goes.
  const auto burst = [&](uint64_t before, unsigned operation) {
    predictor.StartBurst();
    for (const uint64_t from : {before, before + 1}) predictor.AddToHistory({from, kDispatch});
    return predictor.AddIndirect(kDispatch, 0x4000 + 64 * operation);
  };
  for (int round = 0; round < 10; ++round) {
    for (const unsigned operation : {1u, 2u}) (void)burst(100 * operation, operation);
  }
  CHECK(burst(100, 1) == Outcome::kPredicted);
  CHECK(burst(200, 2) == Outcome::kPredicted);
  CHECK(burst(200, 1) == Outcome::kMispredicted);
}

}  // namespace
}  // namespace hbbp
