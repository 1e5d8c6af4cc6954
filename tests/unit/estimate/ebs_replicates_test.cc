#include "estimate/ebs_replicates.h"

#include <cmath>
#include <cstdint>
#include <numeric>

#include "support/catch.h"

namespace hbbp {
namespace {

double Total(const ReplicateSums& sums) {
  return std::accumulate(sums.sums.begin(), sums.sums.end(), 0.0);
}

struct Moments {
  double variance = 0;         // mean of VarianceOf
  double sum_of_even = 0;      // mean of the sum of eight replicates
  double variance_of_one = 0;  // of the first replicate, over the runs
};

Moments ComputeMoments(uint64_t samples, double sum, double squares, int runs) {
  Moments moments;
  for (int run = 0; run < runs; ++run) {
    const ReplicateSums sums = AssignReplicates(samples, sum, squares, static_cast<uint64_t>(run));
    REQUIRE(Total(sums) == Approx(sum).epsilon(1e-5));
    moments.variance += VarianceOf(sums) / runs;
    for (size_t i = 0; i < kReplicates; i += 2) {
      moments.sum_of_even += static_cast<double>(sums.sums[i]) / runs;
    }
    const double deviation = static_cast<double>(sums.sums[0]) - sum / kReplicates;
    moments.variance_of_one += deviation * deviation / runs;
  }
  return moments;
}

TEST_CASE("one sample goes to one replicate, and where depends on the seed") {
  size_t used = 0;
  ReplicateSums all;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const ReplicateSums sums = AssignReplicates(1, 1000, 1e6, seed);
    CHECK(Total(sums) == 1000);
    CHECK(VarianceOf(sums) == Approx(1e6));
    all.Add(sums);
  }
  for (const float sum : all.sums) used += sum > 0;
  CHECK(used == kReplicates);
  CHECK(AssignReplicates(50, 1000, 1e6, 7) == AssignReplicates(50, 1000, 1e6, 7));
  CHECK_FALSE(AssignReplicates(50, 1000, 1e6, 7) == AssignReplicates(50, 1000, 1e6, 8));
}

TEST_CASE("the variance is on average that of the samples, however many they are") {
  // One run has an error of sqrt(2 / 15), so 2000 of 0.8 %.
  for (const uint64_t samples : {2u, 9u, 64u, 1000u, 4096u, 5000u, 1'000'000u}) {
    const auto n = static_cast<double>(samples);
    const Moments moments = ComputeMoments(samples, 10 * n, 100 * n, 2000);
    CAPTURE(samples);
    CHECK(moments.variance == Approx(100 * n).epsilon(0.04));
    CHECK(moments.sum_of_even == Approx(5 * n).epsilon(4 / std::sqrt(2000 * n)));
    CHECK(moments.variance_of_one == Approx(100 * n * 15 / 256).epsilon(0.15));
  }
}

TEST_CASE("periods that differ add to the variance") {
  // These are 90 samples of period 10 and 10 of period 110.
  const Moments moments = ComputeMoments(100, 2000, 90 * 100 + 10 * 12'100, 2000);
  CHECK(moments.variance == Approx(130'000).epsilon(0.04));
}

TEST_CASE("nothing to deal, and absurd numbers") {
  CHECK(AssignReplicates(0, 0, 0, 1) == ReplicateSums{});
  CHECK(AssignReplicates(0, 100, 100, 1) == ReplicateSums{});
  CHECK(AssignReplicates(10, 0, 0, 1) == ReplicateSums{});
  CHECK(AssignReplicates(10, std::nan(""), 1, 1) == ReplicateSums{});
  const ReplicateSums many = AssignReplicates(UINT64_MAX, 1e20, 1e20, 1);
  CHECK(Total(many) == Approx(1e20).epsilon(1e-5));
  CHECK(Total(AssignReplicates(10, 100, -5, 1)) == Approx(100));
}

}  // namespace
}  // namespace hbbp
