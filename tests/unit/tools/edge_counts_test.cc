#include "export/edge_counts.h"

#include <cmath>

#include "support/catch.h"

namespace hbbp::tools {
namespace {

using Counts = std::vector<double>;

TEST_CASE("edge counts: what blocks alone determine") {
  // 0 -> 1 -> 2 and 0 -> 2, as of an `if`; 2 -> 2 is a loop.
  const Counts blocks = {1000, 300, 5000};
  const std::vector<WeightedEdge> edges = {{kOutsideFunction, 0}, {0, 1}, {0, 2}, {1, 2}, {2, 2},
                                           {2, kOutsideFunction}};
  CHECK(CountEdges(blocks, edges) == Counts{1000, 300, 700, 300, 4000, 1000});
}

TEST_CASE("edge counts: what leaves a block is divided as it was observed") {
  const Counts blocks = {1000, 280, 720};
  const std::vector<WeightedEdge> edges = {{0, 1, 30}, {0, 2, 70}};
  CHECK(CountEdges(blocks, edges) == Counts{300, 700});
}

TEST_CASE("edge counts: what nothing determines stays unknown") {
  // Two ways out of each of two blocks into the same two, and nothing is known of any.
  const Counts blocks = {10, 10, 10, 10};
  const std::vector<WeightedEdge> edges = {{0, 2}, {0, 3}, {1, 2}, {1, 3}};
  for (const double count : CountEdges(blocks, edges)) CHECK(std::isnan(count));
  // Weights of some edges of a block only say nothing of the others.
  const std::vector<WeightedEdge> partly = {{0, 2, 5}, {0, 3}, {1, 2}, {1, 3}};
  for (const double count : CountEdges(blocks, partly)) CHECK(std::isnan(count));
}

TEST_CASE("edge counts: blocks that contradict each other give no negative ones") {
  // More than the first block has went on to the second, so that nothing is left for its return.
  const std::vector<WeightedEdge> edges = {{0, 1}, {0, kOutsideFunction}, {1, kOutsideFunction}};
  CHECK(CountEdges(Counts{100, 130}, edges) == Counts{130, 0, 130});
  CHECK(CountEdges({}, {}).empty());
}

}  // namespace
}  // namespace hbbp::tools
