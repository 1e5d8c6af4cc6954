#include "measured.h"

#include <cmath>
#include <limits>

#include "support/catch.h"

namespace hbbp::tools {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST_CASE("the error of a share follows from the errors of three sums") {
  // A block that ran 100 +- 10 times has 3 loads among 6 instructions, one that ran 50 +- 5 times
  // has none among 4.
  const Measured loads = {300, 30};
  const Measured others = {500, std::hypot(30, 20)};
  const Measured all = {800, std::hypot(60, 20)};
  const Measured share = ComputeShare(loads, others, all, all);
  CHECK(share.value == 0.375);
  CHECK(share.standard_error == Approx(0.0132583).epsilon(1e-5));
}

TEST_CASE("a share of instructions of the same blocks is certain") {
  const Measured share = ComputeShare({300, 30}, {100, 10}, {400, 40}, {400, 40});
  CHECK(share.value == 0.75);
  CHECK(share.standard_error == 0);
}

TEST_CASE("all and nothing of a whole are certain, and what has no error is") {
  CHECK(ComputeShare({400, 40}, {}, {400, 40}, {400, 40}).standard_error == 0);
  CHECK(ComputeShare({}, {400, 40}, {400, 40}, {400, 40}).standard_error == 0);
  CHECK(ComputeShare({1, 0}, {3, 0}, {4, 0}, {4, 0}).standard_error == 0);
}

TEST_CASE("missing code is independent of the rest of the whole") {
  // Two independent parts, and a third one outside of both.
  const Measured covered = {200, std::hypot(10, 10)};
  const Measured whole = {400, std::hypot(10, 10, 20)};
  const Measured share = ComputeShare({100, 10}, {100, 10}, covered, whole);
  CHECK(share.value == 0.25);
  // x - r w is 0.75 of the part, -0.25 of the rest and -0.25 of the missing code.
  CHECK(share.standard_error == Approx(std::hypot(7.5, 2.5, 5) / 400));
}

TEST_CASE("an infinite error is one of the share as well") {
  CHECK(std::isinf(
      ComputeShare({1, kInfinity}, {1, 0}, {2, kInfinity}, {2, kInfinity}).standard_error));
}

TEST_CASE("changes are parts of a whole with an error") {
  // All of it: 110 / 100, with the errors of both.
  const Measured grown = ChangeOfWhole({100, 3}, {110, 4}, {100, 3});
  CHECK(grown.value == Approx(0.1));
  CHECK(grown.standard_error == Approx(std::hypot(4, 3 * 1.1) / 100));
  // A part: an exact whole adds nothing.
  const Measured shrunk = ChangeOfWhole({50, 3}, {40, 4}, {100, 0});
  CHECK(shrunk.value == Approx(-0.1));
  CHECK(shrunk.standard_error == Approx(0.05));
  CHECK(ChangeOfWhole({50, 0}, {50, 0}, {100, 10}).standard_error == 0);
}

TEST_CASE("magnitudes are not negative") {
  const Interval sure = MagnitudeInterval({-10, 2});
  CHECK(sure.low == Approx(6.08007));
  CHECK(sure.high == Approx(13.91993));
  CHECK(MagnitudeInterval({1, 2}).low == 0);
  CHECK(MagnitudeInterval({1, 2}).high == Approx(4.91993));
}

TEST_CASE("intervals of numbers are symmetric") {
  const Interval interval = NormalInterval({10, 2});
  CHECK(interval.low == Approx(6.08007));
  CHECK(interval.high == Approx(13.91993));
}

TEST_CASE("intervals of shares are Wilson's") {
  // 20 of 100 observations: the error is sqrt(0.2 * 0.8 / 100).
  const Interval interval = ShareInterval({0.2, 0.04});
  CHECK(interval.low == Approx(0.133367).epsilon(1e-5));
  CHECK(interval.high == Approx(0.288829).epsilon(1e-5));
  // 1 of 100.
  const Interval rare = ShareInterval({0.01, std::sqrt(0.01 * 0.99 / 100)});
  CHECK(rare.low == Approx(0.0017674).epsilon(1e-4));
  CHECK(rare.high == Approx(0.0544862).epsilon(1e-4));
  // Many observations leave 1.96 standard errors to both sides.
  const Interval sure = ShareInterval({0.5, 1e-6});
  CHECK(sure.low == Approx(0.5 - 1.959964e-6).epsilon(1e-12));
  CHECK(sure.high == Approx(0.5 + 1.959964e-6).epsilon(1e-12));
}

TEST_CASE("intervals of shares stay between 0 and 1") {
  CHECK(ShareInterval({0.25, 0}).low == 0.25);
  CHECK(ShareInterval({0.25, 0}).high == 0.25);
  CHECK(ShareInterval({0.25, kInfinity}).low == 0);
  CHECK(ShareInterval({0.25, kInfinity}).high == 1);
  CHECK(ShareInterval({0.999, 0.2}).high <= 1);
  CHECK(ShareInterval({0.001, 0.2}).low >= 0);
}

TEST_CASE("what none of many observations saw is rare") {
  CHECK(MaxUnseenShare(0) == 1);
  CHECK(MaxUnseenShare(1) == Approx(0.975));
  CHECK(std::pow(1 - MaxUnseenShare(100), 100) == Approx(0.025));
  CHECK(MaxUnseenShare(1'000'000) == Approx(3.6889e-6).epsilon(1e-4));
}

}  // namespace
}  // namespace hbbp::tools
