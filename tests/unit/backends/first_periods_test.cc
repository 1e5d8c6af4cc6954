#include "backends/first_periods.h"

#include <sys/types.h>

#include <cstdint>

#include "events/period.h"
#include "support/catch.h"

namespace hbbp {
namespace {

constexpr uint64_t kPeriod = 1000;

// Returns what samples of threads stand for that live for `life` each, one after the other.
double MeanOf(uint64_t life) {
  constexpr int kThreads = 20'000;
  PeriodDraw draw(life);
  FirstPeriods periods;
  uint64_t samples = 0;
  for (pid_t tid = 1; tid <= kThreads; ++tid) {
    periods.AddThread(tid);
    const uint64_t first = draw.Between(1, kPeriod);
    for (uint64_t now = 1; now <= life; ++now) {
      if (now % first == 0) samples += periods.TakesFirst(tid);
      if (now % kPeriod == 0) samples += periods.TakesRegular(tid, draw.Between(0, 1) == 0);
    }
  }
  return static_cast<double>(samples * kPeriod) / kThreads;
}

TEST_CASE("a thread is seen as often as it lasts, however brief it is") {
  for (const uint64_t life : {100, 500, 900, 3500}) {
    CHECK(MeanOf(life) == Approx(static_cast<double>(life)).epsilon(0.05));
  }
  // From one to two periods it is 1.5 of them.
  CHECK(MeanOf(1200) == Approx(1.5 * kPeriod).epsilon(0.05));
  CHECK(MeanOf(1800) == Approx(1.5 * kPeriod).epsilon(0.05));
}

TEST_CASE("without a second event all samples count") {
  FirstPeriods periods;
  CHECK_FALSE(periods.HasSample(7));
  CHECK(periods.TakesRegular(7, false));
  CHECK(periods.HasSample(7));
  CHECK(periods.TakesRegular(7, false));
  CHECK_FALSE(periods.TakesFirst(7));
}

TEST_CASE("the number of a thread may come again") {
  FirstPeriods periods;
  CHECK(periods.TakesFirst(7));
  CHECK_FALSE(periods.TakesFirst(7));
  periods.AddThread(7);
  CHECK(periods.TakesFirst(7));
  CHECK_FALSE(periods.TakesRegular(7, false));
  CHECK(periods.TakesRegular(7, false));
  periods.Clear();
  CHECK(periods.TakesFirst(7));
}

}  // namespace
}  // namespace hbbp
