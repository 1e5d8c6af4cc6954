#include "estimate/edge_counts.h"

#include <cmath>
#include <cstdint>
#include <optional>
#include <random>
#include <vector>

#include "support/catch.h"

namespace hbbp {
namespace {

constexpr uint32_t kOutside = UINT32_MAX;

std::optional<ReplicatedCount> Count(double count, size_t replicate = 0) {
  ReplicatedCount known{count, {}};
  known.replicates.sums[replicate] = static_cast<float>(count);
  return known;
}

std::vector<double> CountsOf(const std::vector<std::optional<ReplicatedCount>>& edges) {
  std::vector<double> counts;
  for (const auto& edge : edges) counts.push_back(edge ? edge->count : -1);
  return counts;
}

TEST_CASE("an edge is what is left of its node") {
  // The edges are 0 -> 1, 1 -> 1, 1 -> 2.
  const std::vector<CountedEdge> edges = {{kOutside, 0}, {0, 1}, {1, 1}, {1, 2}, {2, kOutside}};
  const auto counts = CountEdges(std::vector{Count(10, 1), Count(1000, 2), Count(11, 3)}, edges);
  CHECK(CountsOf(counts) == std::vector<double>{10, 10, 990, 11, 11});
  CHECK(counts[1]->replicates.sums[1] == 10);
  CHECK(counts[2]->replicates.sums[2] == 1000);
  CHECK(counts[2]->replicates.sums[1] == -10);
}

TEST_CASE("what is undetermined stays unknown, and nothing becomes negative") {
  // Two blocks have two ways each: both sums are known, but no edge is.
  const auto unknown = CountEdges(std::vector{Count(5), Count(5), Count(5), Count(5)},
                                  std::vector<CountedEdge>{{0, 2}, {0, 3}, {1, 2}, {1, 3}});
  CHECK(CountsOf(unknown) == std::vector<double>{-1, -1, -1, -1});
  const auto clamped =
      CountEdges(std::vector{Count(10), Count(7)},
                 std::vector<CountedEdge>{{kOutside, 0}, {0, 1}, {1, 1}, {1, kOutside}});
  CHECK(CountsOf(clamped) == std::vector<double>{10, 10, 0, 7});
}

TEST_CASE("a node without a count passes on what comes") {
  // Two jumps go through one table with two targets, one of which has another way in.
  const auto counts = CountEdges(
      std::vector{Count(3), Count(4), std::optional<ReplicatedCount>(), Count(5), Count(9)},
      std::vector<CountedEdge>{{0, 2}, {1, 2}, {2, 3}, {2, 4}, {kOutside, 4}});
  CHECK(CountsOf(counts) == std::vector<double>{3, 4, 5, 2, 7});
}

TEST_CASE("a ratio is as sure as its parts are independent") {
  ReplicatedCount a, b;
  std::mt19937_64 random(3);
  for (size_t i = 0; i < kReplicates; ++i) {
    b.replicates.sums[i] = static_cast<float>(random() % 100);
    b.count += static_cast<double>(b.replicates.sums[i]);
  }
  a.Add(b, 7);
  const Ratio same = ComputeRatio(a, b);
  CHECK(same.value == Approx(7));
  CHECK(same.standard_error < 1e-6);

  ReplicatedCount c{1600, {}};
  c.replicates.sums.fill(100);
  const Ratio steady = ComputeRatio(c, b);
  CHECK(steady.standard_error ==
        Approx(std::sqrt(VarianceOf(b.replicates)) * c.count / b.count / b.count));
  CHECK(ComputeRatio(a, ReplicatedCount{}).value == 0);
}

// Counts are Poisson, and the header's are the sum of both kinds of edges: the error that one run
// reports must be the scatter of many.
TEST_CASE("the error of a ratio is that of repeated runs") {
  std::mt19937_64 random(5);
  constexpr double kEntries = 30, kBack = 180;
  double squares = 0, reported = 0;
  constexpr int kRuns = 3000;
  for (int run = 0; run < kRuns; ++run) {
    ReplicatedCount entries, iterations;
    for (size_t i = 0; i < kReplicates; ++i) {
      const double in = std::poisson_distribution<int>(kEntries)(random);
      const double back = std::poisson_distribution<int>(kBack)(random);
      entries.replicates.sums[i] = static_cast<float>(in);
      iterations.replicates.sums[i] = static_cast<float>(in + back);
      entries.count += in;
      iterations.count += in + back;
    }
    const Ratio ratio = ComputeRatio(iterations, entries);
    squares += (ratio.value - 7) * (ratio.value - 7);
    reported += ratio.standard_error * ratio.standard_error;
  }
  CHECK(reported / squares == Approx(1).epsilon(0.1));
}

}  // namespace
}  // namespace hbbp
