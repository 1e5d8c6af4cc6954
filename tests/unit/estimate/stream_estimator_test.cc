#include "estimate/stream_estimator.h"

#include <array>
#include <cmath>
#include <cstdint>

#include "support/catch.h"

namespace hbbp {
namespace {

// Adds burst k, of weight x_k, to this replicate.
void AddBurst(double weight, uint64_t streams, size_t replicate, StreamSums* sums) {
  sums->streams += streams;
  sums->weights += weight * static_cast<double>(streams);
  sums->replicates.sums[replicate] += static_cast<float>(weight * static_cast<double>(streams));
}

TEST_CASE("a burst adds its period, in equal parts, by its streams") {
  CHECK(StreamWeight(1000, 5) == 250);
  CHECK(StreamWeight(1000, 2) == 1000);
  CHECK(StreamWeight(1000, 1) == 0);
  CHECK(StreamWeight(1000, 0) == 0);
  CHECK(StreamWeight(65'535'000'000, 65'536) == 1'000'000);
}

TEST_CASE("a burst of instructions adds its period in instructions") {
  CHECK(StreamWeight(1000, 5, 40) == 25);
  CHECK(StreamWeight(1000, 1, 40) == 0);
  CHECK(3 * StreamWeight(1000, 5, 40) + 2 * StreamWeight(1000, 3, 10) == 275);
}

TEST_CASE("the worked example") {
  StreamSums sums;
  AddBurst(StreamWeight(1000, 5), 3, 0, &sums);
  CHECK(EstimateStreams(sums).count == 750);
  CHECK(EstimateStreams(sums).standard_error == Approx(750));
  StreamSums same = sums;
  AddBurst(StreamWeight(1000, 3), 2, 0, &same);
  AddBurst(StreamWeight(1000, 3), 2, 9, &sums);
  CHECK(sums.streams == 5);
  CHECK(EstimateStreams(sums).count == 1750);
  CHECK(EstimateStreams(same).count == 1750);
  CHECK(EstimateStreams(same).standard_error == Approx(1750));
  CHECK(VarianceOf(sums.replicates) == Approx(1'462'500));
  CHECK(EstimateStreams(sums).standard_error == Approx(1209.3).epsilon(1e-4));
}

TEST_CASE("nothing observed is a count of 0 without error") {
  CHECK(EstimateStreams({}).count == 0);
  CHECK(EstimateStreams({}).standard_error == 0);
}

TEST_CASE("on average the variance is the sum of the squares of what bursts add") {
  constexpr int kBursts = 400;
  constexpr int kRuns = 500;
  double mean = 0;
  uint64_t number = 0;
  for (int run = 0; run < kRuns; ++run) {
    StreamSums sums;
    for (int i = 0; i < kBursts; ++i) AddBurst(i % 4 == 0 ? 3 : 1, 1, ReplicateOf(number++), &sums);
    mean += VarianceOf(sums.replicates) / kRuns;
  }
  constexpr double kExpected = 100 * 9 + 300 * 1;
  // One run has an error of sqrt(2 / 15), so 500 of 1.6 %.
  CHECK(mean == Approx(kExpected).epsilon(0.06));
}

TEST_CASE("streams that always come together are not taken for independent") {
  StreamSums first, second, both;
  for (uint64_t i = 0; i < 1000; ++i) AddBurst(10, 1, ReplicateOf(i), &first);
  second = first;
  both = first;
  both.Add(second);
  CHECK(both.streams == 2000);
  CHECK(both.weights == 20'000);
  CHECK(EstimateStreams(both).standard_error == Approx(2 * EstimateStreams(first).standard_error));
}

TEST_CASE("bursts are assigned evenly, and by no simple rule") {
  std::array<int, kReplicates> assigned{};
  std::array<int, kReplicates> every_16th{};
  for (uint64_t i = 0; i < 16'000; ++i) {
    ++assigned[ReplicateOf(i)];
    ++every_16th[ReplicateOf(16 * i)];
  }
  for (size_t i = 0; i < kReplicates; ++i) {
    CHECK(std::abs(assigned[i] - 1000) < 150);
    CHECK(std::abs(every_16th[i] - 1000) < 150);
  }
}

}  // namespace
}  // namespace hbbp
