#include "mix/correlated_sums.h"

#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include "base/random_bits.h"
#include "support/catch.h"
#include "unit/mix/many_runs.h"

namespace hbbp {
namespace {

using Amounts = std::array<double, 3>;

TEST_CASE("sums and quotients of blocks that are wrong independently") {
  CorrelatedSums sums(3);
  sums.Add(Amounts{3, 6, 0}, {100, 10});
  sums.Add(Amounts{0, 4, 0}, {50, 5});
  CHECK(sums.Sum(0).count == 300);
  CHECK(sums.Sum(0).standard_error == Approx(30));
  CHECK(sums.Sum(1).count == 800);
  CHECK(sums.Sum(1).standard_error == Approx(std::hypot(60, 20)));
  const auto quotient = sums.Ratio(0, 1);
  REQUIRE(quotient);
  CHECK(quotient->count == Approx(0.375));
  CHECK(quotient->standard_error == Approx(std::hypot(0.75 * 10, 1.5 * 5) / 800));
  // The inverse ratio works likewise.
  const auto inverse = sums.Ratio(1, 0);
  REQUIRE(inverse);
  CHECK(inverse->standard_error / inverse->count ==
        Approx(quotient->standard_error / quotient->count));
  CHECK_FALSE(sums.Ratio(0, 2));
  CHECK(sums.Sum(2).standard_error == 0);
  CHECK(sums.Ratio(1, 1)->count == 1);
  CHECK(sums.Ratio(1, 1)->standard_error == Approx(0).margin(1e-9));
}

TEST_CASE("what goes together in one block has a certain quotient, however uncertain its count") {
  CorrelatedSums sums(2);
  sums.Add(std::array{2.0, 8.0}, {1000, 900});
  CHECK(sums.Ratio(0, 1)->count == 0.25);
  CHECK(sums.Ratio(0, 1)->standard_error == 0);
  CHECK(sums.Sum(0).standard_error == Approx(1800));
}

TEST_CASE("a quotient that is the same in all blocks is certain, but for rounding") {
  CorrelatedSums sums(2);
  for (int i = 1; i < 1000; ++i) {
    sums.Add(std::array{0.3 * i, 0.7 * i}, {1.1 * i, std::sqrt(i) / 3});
  }
  CHECK(sums.Ratio(0, 1)->standard_error == 0);
  // One block with another ratio makes it uncertain.
  sums.Add(std::array{0.3, 0.9}, {1000, 30});
  CHECK(sums.Ratio(0, 1)->standard_error > 0);
}

void Add(const CountEstimate& estimate, Repetition* repetition) {
  repetition->Add(estimate.count, estimate.standard_error);
}

void CheckError(const Repetition& repetition) {
  CHECK(repetition.ReportedError() == Approx(repetition.Scatter()).epsilon(0.1));
}

// The second amount is larger than the first in some blocks and smaller in others.
const std::vector<std::array<double, 2>> kBlocks = {{1, 5}, {4, 1}, {3, 3}, {0, 7}};

TEST_CASE("errors of quotients are those of many runs, where IP samples counted") {
  RandomBits random(3);
  Repetition quotient, first;
  for (int run = 0; run < 4000; ++run) {
    CorrelatedSums sums(2);
    for (size_t block = 0; block < kBlocks.size(); ++block) {
      const uint32_t samples = Poisson(40.0 + 20.0 * static_cast<double>(block), &random);
      sums.Add(kBlocks[block], {10.0 * samples, 10.0 * std::sqrt(samples)});
    }
    Add(*sums.Ratio(0, 1), &quotient);
    Add(sums.Sum(0), &first);
  }
  CheckError(quotient);
  CheckError(first);
}

TEST_CASE("errors of quotients are those of many runs, where bursts cross several blocks") {
  RandomBits random(5);
  Repetition quotient, first;
  for (int run = 0; run < 4000; ++run) {
    std::vector<ReplicateSums> replicates(kBlocks.size());
    std::vector<double> counts(kBlocks.size());
    for (uint32_t burst = Poisson(100, &random); burst > 0; --burst) {
      // Two neighbours run equally often.
      const size_t at = random.Next() % (kBlocks.size() - 1);
      const double rounds = static_cast<double>(1 + random.Next() % 6);
      const size_t replicate = random.Next() % kReplicates;
      for (const size_t block : {at, at + 1}) {
        counts[block] += rounds;
        replicates[block].sums[replicate] += static_cast<float>(rounds);
      }
    }
    CorrelatedSums sums(2);
    for (size_t block = 0; block < kBlocks.size(); ++block) {
      sums.Add(kBlocks[block], counts[block], replicates[block]);
    }
    Add(*sums.Ratio(0, 1), &quotient);
    Add(sums.Sum(0), &first);
  }
  CheckError(quotient);
  CheckError(first);
}

}  // namespace
}  // namespace hbbp
