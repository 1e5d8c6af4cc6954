#include "events/period.h"

#include <algorithm>
#include <cstdint>
#include <string>

#include "events/samples.h"
#include "support/catch.h"

namespace hbbp {
namespace {

bool IsPrimeSlowly(uint64_t n) {
  for (uint64_t divisor = 2; divisor * divisor <= n; ++divisor) {
    if (n % divisor == 0) return false;
  }
  return n >= 2;
}

TEST_CASE("the largest prime up to every small number") {
  uint64_t largest = 2;
  for (uint64_t n = 0; n < 20'000; ++n) {
    if (IsPrimeSlowly(n)) largest = n;
    if (LargestPrimeUpTo(n) != largest) {
      CAPTURE(n);
      REQUIRE(LargestPrimeUpTo(n) == largest);
    }
  }
}

TEST_CASE("primes of the size of periods, and products that look like them") {
  CHECK(LargestPrimeUpTo(5'000'000) == 4'999'999);
  CHECK(LargestPrimeUpTo(20'000'000) == 19'999'999);
  CHECK(LargestPrimeUpTo(1'000'000'007) == 1'000'000'007);
  // Squares and products of neighbouring primes.
  CHECK(LargestPrimeUpTo(65521ull * 65521) == 4293001429);
  CHECK(LargestPrimeUpTo(4294967291ull) == 4294967291ull);
}

TEST_CASE("the largest period that a session takes has its prime without delay") {
  CHECK(LargestPrimeUpTo(INT64_MAX) == 9223372036854775783ull);
  CHECK(LargestPrimeUpTo(UINT64_MAX) == 18446744073709551557ull);
  // A strong pseudoprime to the bases 2, 3, 5, 7, 11, 13 and 17.
  CHECK(LargestPrimeUpTo(341550071728321ull) == 341550071728289ull);
}

TEST_CASE("periods out of step meet at all distances, and are hardly longer") {
  struct Case {
    uint64_t period, other;
  };
  for (const auto& [period, other] :
       {Case{999'983, 999'983}, Case{999'979, 999'983}, Case{1'000'003, 999'983},
        Case{1'999'993, 999'983}, Case{999'983, 1'999'993}, Case{49'999'991, 999'983},
        Case{999'983, 49'999'991}, Case{20'011, 49'999'991}}) {
    CAPTURE(period, other);
    const uint64_t chosen = PeriodOutOfStep(period, other);
    CHECK(LargestPrimeUpTo(chosen) == chosen);
    CHECK(chosen >= period);
    CHECK(chosen <= period + period / 64);
    // How much later than a sample of the shorter period the next one of the longer comes.
    const uint64_t shorter = std::min(chosen, other), longer = std::max(chosen, other);
    const uint64_t later = longer % shorter;
    CHECK(std::min(later, shorter - later) >= shorter / 130);
  }
}

TEST_CASE("periods that are out of step stay as they are") {
  CHECK(PeriodOutOfStep(1'000'003, 700'001) == 1'000'003);
  CHECK(PeriodOutOfStep(700'001, 1'000'003) == 700'001);
  CHECK(PeriodOutOfStep(999'983, 0) == 999'983);
}

TEST_CASE("drawn periods stay within an eighth, reach all of it, and have the right mean") {
  for (uint64_t period : {uint64_t{1000}, uint64_t{5'000'000}, uint64_t{1} << 40}) {
    CAPTURE(period);
    PeriodDraw draw(12345);
    constexpr int kDraws = 20'000;
    uint64_t lowest = UINT64_MAX;
    uint64_t highest = 0;
    double sum = 0;
    for (int i = 0; i < kDraws; ++i) {
      const uint64_t drawn = draw.Next(period);
      lowest = std::min(lowest, drawn);
      highest = std::max(highest, drawn);
      sum += static_cast<double>(drawn);
    }
    const auto mean = static_cast<double>(period);
    CHECK(lowest >= period - period / 8);
    CHECK(highest <= period + period / 8);
    CHECK(static_cast<double>(lowest) < 0.88 * mean);
    CHECK(static_cast<double>(highest) > 1.12 * mean);
    // Five standard errors of the mean of a uniform distribution of that width.
    CHECK(sum / kDraws == Approx(mean).epsilon(5 * 0.25 / 3.4641 / 141.4));
  }
}

TEST_CASE("each number of a range is drawn equally often, the first and the last too") {
  PeriodDraw draw(99);
  constexpr int kDraws = 60'000;
  constexpr uint64_t kFirst = 3, kLast = 8;
  int drawn[kLast + 1] = {};
  for (int i = 0; i < kDraws; ++i) {
    const uint64_t number = draw.Between(kFirst, kLast);
    REQUIRE(number >= kFirst);
    REQUIRE(number <= kLast);
    ++drawn[number];
  }
  for (uint64_t number = kFirst; number <= kLast; ++number) {
    CHECK(drawn[number] == Approx(kDraws / 6.0).epsilon(0.06));
  }
}

TEST_CASE("a tiny period can be drawn too") {
  PeriodDraw draw(1);
  for (uint64_t period = 1; period < 8; ++period) CHECK(draw.Next(period) == period);
  for (int i = 0; i < 100; ++i) {
    const uint64_t drawn = draw.Next(8);
    CHECK(drawn >= 7);
    CHECK(drawn <= 9);
  }
}

TEST_CASE("seeds give sequences of their own, and the same seed the same") {
  PeriodDraw first(2);
  PeriodDraw same(2);
  PeriodDraw other(20);
  int equal = 0;
  for (int i = 0; i < 100; ++i) {
    const uint64_t drawn = first.Next(1'000'000);
    CHECK(drawn == same.Next(1'000'000));
    equal += drawn == other.Next(1'000'000);
  }
  CHECK(equal < 5);
}

TEST_CASE("clocks count nanoseconds, counters what they are named after") {
  CHECK(UnitOf(EventKind::kTaskClock) == Unit::kNanoseconds);
  CHECK(UnitOf(EventKind::kCpuClock) == Unit::kNanoseconds);
  CHECK(UnitOf(EventKind::kInstructions) == Unit::kInstructions);
  CHECK(UnitOf(EventKind::kCycles) == Unit::kCycles);
  CHECK(std::string(EventName(EventKind::kTaskClock)) == "task-clock");
  CHECK(std::string(EventName(EventKind::kCpuClock)) == "cpu-clock");
}

}  // namespace
}  // namespace hbbp
