#include "backends/stream_predictor.h"

#include <vector>

#include "support/catch.h"

namespace hbbp {
namespace {

using Outcome = StreamPredictor::Outcome;

struct Outcomes {
  size_t unknown = 0, predicted = 0, mispredicted = 0;
};

// The branch at 16 * number goes to the next one of the path.
Outcomes Follow(const std::vector<uint64_t>& path, StreamPredictor* predictor) {
  Outcomes outcomes;
  predictor->StartBurst();
  for (size_t i = 0; i + 1 < path.size(); ++i) {
    switch (predictor->Add({16 * path[i], 16 * path[i + 1]})) {
      case Outcome::kUnknown:
        ++outcomes.unknown;
        break;
      case Outcome::kPredicted:
        ++outcomes.predicted;
        break;
      case Outcome::kMispredicted:
        ++outcomes.mispredicted;
        break;
    }
  }
  return outcomes;
}

TEST_CASE("a loop is predicted, and its first round is unknown") {
  StreamPredictor predictor;
  std::vector<uint64_t> path;
  for (int round = 0; round < 100; ++round) path.insert(path.end(), {1, 2, 3});
  const Outcomes outcomes = Follow(path, &predictor);
  CHECK(outcomes.mispredicted == 0);
  CHECK(outcomes.unknown <= 4);
  CHECK(outcomes.predicted >= 294);
}

TEST_CASE("what follows from a longer history is predicted") {
  StreamPredictor predictor;
  // 9 follows each fourth 1, and 2 the others.
  std::vector<uint64_t> path;
  for (int round = 0; round < 400; ++round) path.insert(path.end(), {1, round % 4 == 0 ? 9u : 2u});
  (void)Follow(path, &predictor);
  const Outcomes outcomes = Follow(path, &predictor);
  CHECK(outcomes.mispredicted < outcomes.predicted / 50);
}

TEST_CASE("half of random branches of two targets are mispredicted") {
  StreamPredictor predictor;
  std::vector<uint64_t> path;
  uint64_t state = 88172645463325252;
  for (int round = 0; round < 4000; ++round) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    path.insert(path.end(), {1, 2 + (state >> 40) % 2});
  }
  const Outcomes outcomes = Follow(path, &predictor);
  // Of a pair of branches, the one to 2 or 3 is random, and the one from there is not.
  CHECK(outcomes.mispredicted > 1200);
  CHECK(outcomes.mispredicted < 2800);
}

TEST_CASE("bursts are not connected, and teach one another") {
  StreamPredictor predictor;
  (void)Follow({1, 2, 3, 4, 5}, &predictor);
  const Outcomes again = Follow({1, 2, 3, 4, 5}, &predictor);
  CHECK(again.unknown == 1);
  CHECK(again.predicted == 3);
  CHECK(Follow({5, 1, 2}, &predictor).unknown == 2);
}

}  // namespace
}  // namespace hbbp
