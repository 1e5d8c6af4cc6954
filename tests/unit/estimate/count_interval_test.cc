#include "estimate/count_interval.h"

#include <cmath>
#include <cstdint>
#include <random>

#include "support/catch.h"

namespace hbbp {
namespace {

// The ends were found by bisection of the incomplete gamma function, outside the library.
TEST_CASE("intervals have the ends of the gamma distribution") {
  const struct {
    CountEstimate estimate;
    double low;
    double high;
  } cases[] = {{{100, 100}, 0, 1214.7902724},
               {{100, 100 / std::sqrt(2.0)}, 2.5211870493, 664.1346488144},
               {{100, 50}, 23.3328163477, 390.8537346362},
               {{100, 31.6227766}, 47.8855654702, 228.3365784974},
               {{100, 10}, 81.3639912509, 124.4458008119},
               {{100, 1}, 98.0495246726, 102.0003057040}};
  for (const auto& [estimate, low, high] : cases) {
    const CountInterval interval = IntervalOf(estimate);
    CAPTURE(estimate.standard_error);
    CHECK(interval.low == Approx(low).epsilon(1e-4));
    CHECK(interval.high == Approx(high).epsilon(1e-4));
    CHECK(interval.Contains(estimate.count));
  }
}

TEST_CASE("of Poisson counts, the lower end is the exact one of those that are not 0") {
  // 1 - exp(-x) (1 + x) = 2.5 % of 1 - exp(-x) at x = 0.05042
  for (const auto& [count, low] : {std::pair{1.0, 0.0}, {2.0, 0.05042374}, {50.0, 37.11105}}) {
    CHECK(IntervalOf({count, std::sqrt(count)}).low == Approx(low).epsilon(1e-4));
  }
}

TEST_CASE("an interval grows with the error, from the count to everything") {
  CHECK(IntervalOf({100, 0}).low == 100);
  CHECK(IntervalOf({100, 0}).high == 100);
  CHECK(IntervalOf({0, 0}).Contains(0));
  double last_low = 100;
  double last_high = 100;
  for (double error = 1e-6; error < 1e9; error *= 3) {
    const CountInterval interval = IntervalOf({100, error});
    CAPTURE(error);
    CHECK(interval.low >= 0);
    CHECK(interval.low <= last_low);
    CHECK(interval.high >= last_high);
    CHECK(std::isfinite(interval.high));
    last_low = interval.low;
    last_high = interval.high;
  }
  CHECK(last_low < 1e-9);
}

// Counts what bursts would have seen of blocks: of `bursts` on average, each with a number of
// crossings that scatters as `crossings` says. Returns how often intervals have the true count.
template <typename Interval, typename Crossings>
double Coverage(double bursts, Crossings crossings, Interval has) {
  std::mt19937_64 random(17);
  std::poisson_distribution<int> arrivals(bursts);
  constexpr int kBlocks = 20'000;
  double truth = 0;
  for (int i = 0; i < kBlocks; ++i) truth += bursts * crossings(random) / kBlocks;
  int seen = 0;
  int covering = 0;
  for (int i = 0; i < kBlocks; ++i) {
    double count = 0;
    double variance = 0;
    for (int n = arrivals(random); n > 0; --n) {
      const double more = crossings(random);
      count += more;
      variance += more * more;
    }
    if (count == 0) continue;
    ++seen;
    if (has(CountEstimate{count, std::sqrt(variance)}, truth)) ++covering;
  }
  return static_cast<double>(covering) / seen;
}

bool IsInInterval(const CountEstimate& estimate, double truth) {
  return IntervalOf(estimate).Contains(truth);
}
bool IsWithinTwoErrors(const CountEstimate& estimate, double truth) {
  return std::abs(estimate.count - truth) <= 1.96 * estimate.standard_error;
}

TEST_CASE("intervals have the true count where bursts add the same, and where they scatter") {
  const auto same = [](std::mt19937_64&) { return 1.0; };
  std::lognormal_distribution<double> scattered(0, 1);
  const auto scatter = [&scattered](std::mt19937_64& random) { return scattered(random); };
  for (const double bursts : {0.01, 0.3, 1.0, 3.0, 10.0, 100.0}) {
    CAPTURE(bursts);
    CHECK(Coverage(bursts, same, IsInInterval) > 0.95);
    CHECK(Coverage(bursts, scatter, IsInInterval) > 0.94);
  }
  // What it is better than.
  CHECK(Coverage(0.01, same, IsWithinTwoErrors) > 0.98);
  CHECK(Coverage(3, scatter, IsWithinTwoErrors) < 0.85);
}

}  // namespace
}  // namespace hbbp
