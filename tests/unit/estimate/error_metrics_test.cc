#include "estimate/error_metrics.h"

#include <cmath>
#include <vector>

#include "support/catch.h"

namespace hbbp {
namespace {

// This is the worked example of error_metrics.h.
const std::vector<CountPair> kMnemonics = {{350, 340}, {100, 90}, {50, 70}};
const std::vector<BlockCountPair> kBlocks = {{100, 90, 4}, {50, 70, 2}};

TEST_CASE("the worked example of the header comes out as it says") {
  CHECK(RelativeError(350, 340) == Approx(10.0 / 350));
  CHECK(AverageWeightedError(kMnemonics) == Approx(0.08));
  CHECK(BlockAccuracyError(kBlocks) == Approx(0.16));
  CHECK(Overlap(kMnemonics) == Approx(0.96));
  CHECK(BlockOverlap(kBlocks) == Approx(0.92));
}

TEST_CASE("a perfect estimate has no error") {
  const std::vector<CountPair> counts = {{3, 3}, {0, 0}, {5, 5}};
  CHECK(AverageWeightedError(counts) == 0);
  CHECK(Overlap(counts) == Approx(1));
}

TEST_CASE("overlap does not depend on scale and errors do") {
  const std::vector<CountPair> counts = {{10, 20}, {30, 60}};
  CHECK(Overlap(counts) == Approx(1));
  CHECK(AverageWeightedError(counts) == Approx(1));
}

TEST_CASE("counts with nothing in common") {
  const std::vector<CountPair> counts = {{10, 0}, {0, 10}};
  CHECK(Overlap(counts) == 0);
  CHECK(AverageWeightedError(counts) == Approx(2));
}

TEST_CASE("intervals are counted where there is a standard error") {
  const std::vector<BlockCountPair> blocks = {
      {100, 124, 4, 10.1},  // whose interval begins at 105.0
      {100, 115, 4, 10.1},  // at 96.4
      {100, 82, 1, 10.1},   // ends at 106
      {100, 70, 1, 10.1},   // at 94
      {100, 100, 1, 0},     // none is known
      {0, 30, 2, 30},       // begins at 0
  };
  const IntervalCoverage coverage = CountIntervals(blocks);
  CHECK(coverage.intervals == 5);
  CHECK(coverage.covering == 3);
  CHECK(CountIntervals({}).intervals == 0);
}

TEST_CASE("an empty reference") {
  CHECK(RelativeError(0, 0) == 0);
  CHECK(std::isinf(RelativeError(0, 1)));
  CHECK(AverageWeightedError({}) == 0);
  CHECK(std::isinf(AverageWeightedError(std::vector<CountPair>{{0, 1}})));
  CHECK(std::isinf(BlockAccuracyError(std::vector<BlockCountPair>{{0, 1, 3}})));
  CHECK(Overlap({}) == 1);
  CHECK(Overlap(std::vector<CountPair>{{0, 1}}) == 0);
  CHECK(Overlap(std::vector<CountPair>{{1, 0}}) == 0);
}

}  // namespace
}  // namespace hbbp
