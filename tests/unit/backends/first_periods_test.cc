#include "backends/first_periods.h"

#include <sys/types.h>

#include <cstdint>

#include "events/period.h"
#include "support/catch.h"

namespace hbbp {
namespace {

constexpr uint64_t kPeriod = 1000;

// Returns what samples of threads stand for that live for `life` each, one after the other, on
// each of so many CPUs.
double MeanSeen(uint64_t life, int cpus = 1) {
  constexpr int kThreads = 20'000;
  PeriodDraw draw(life);
  FirstPeriods periods;
  uint64_t samples = 0;
  for (pid_t tid = 1; tid <= kThreads; ++tid) {
    periods.AddThread(tid);
    const uint64_t first = FirstPeriods::Draw(kPeriod, &draw);
    for (int cpu = 0; cpu < cpus; ++cpu) {
      for (uint64_t now = 1; now <= life; ++now) {
        if (now % first == 0) samples += periods.TakesFirst(tid, cpu);
        if (now % kPeriod == 0) samples += periods.TakesRegular(tid, cpu, draw.Between(0, 1) == 0);
      }
    }
  }
  return static_cast<double>(samples * kPeriod) / kThreads;
}

TEST_CASE("a thread is seen as often as it lasts beyond a sixteenth of a period") {
  constexpr double kShortest = 1.0 * kPeriod / FirstPeriods::kMaxDivision;
  for (const int life : {250, 500, 900}) {
    const double expected = (life - kShortest) * kPeriod / (kPeriod - kShortest);
    CHECK(MeanSeen(static_cast<uint64_t>(life)) == Approx(expected).epsilon(0.05));
    CHECK(MeanSeen(static_cast<uint64_t>(life), 2) == Approx(2 * expected).epsilon(0.05));
  }
  CHECK(MeanSeen(static_cast<uint64_t>(kShortest) - 1) == 0);
  CHECK(MeanSeen(3500) == Approx(3500).epsilon(0.05));
  // From one to two periods it is 1.5 of them.
  CHECK(MeanSeen(1200) == Approx(1.5 * kPeriod).epsilon(0.05));
  CHECK(MeanSeen(1800) == Approx(1.5 * kPeriod).epsilon(0.05));
}

TEST_CASE("without a second event all samples count") {
  FirstPeriods periods;
  CHECK_FALSE(periods.HasSample(7));
  CHECK(periods.TakesRegular(7, 0, false));
  CHECK(periods.HasSample(7));
  CHECK(periods.TakesRegular(7, 0, false));
  CHECK_FALSE(periods.TakesFirst(7, 0));
}

TEST_CASE("the number of a thread may come again") {
  FirstPeriods periods;
  CHECK(periods.TakesFirst(7, 0));
  CHECK_FALSE(periods.TakesFirst(7, 0));
  periods.AddThread(7);
  CHECK(periods.TakesFirst(7, 0));
  CHECK_FALSE(periods.TakesRegular(7, 0, false));
  CHECK(periods.TakesRegular(7, 0, false));
  CHECK(periods.TakesFirst(7, 1));
  periods.Clear();
  CHECK(periods.TakesFirst(7, 0));
}

}  // namespace
}  // namespace hbbp
