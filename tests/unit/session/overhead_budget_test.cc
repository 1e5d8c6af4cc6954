// OverheadBudget over sources that are modelled: so many events a nanosecond, so much a sample.
#include "session/overhead_budget.h"

#include <cmath>
#include <vector>

#include "support/catch.h"

namespace hbbp {
namespace {

constexpr uint64_t kSpanNs = 100'000'000;

struct Source {
  double events_per_ns;
  double period;
  double sample_ns;
  double drain_ns;  // a span, whatever the period
  double change_ns;
};

struct Outcome {
  double overhead = 0;  // of the second half
  double estimate = 0;  // of events, by exact ones
  int changes = 0;
  double factor = 1;
};

// Each sample counts by the period that it was taken with.
Outcome Run(const Source& source, double share, int spans) {
  OverheadBudget budget(share);
  OverheadBudget::Usage usage, half;
  double events = 0, counted = 0, left = 0;
  Outcome outcome;
  for (int i = 0; i < spans; ++i) {
    const double period = source.period * budget.factor();
    left += source.events_per_ns * kSpanNs;
    const double samples = std::floor(left / period);
    left -= samples * period;
    counted += samples * period;
    events += source.events_per_ns * kSpanNs;
    usage.cpu_ns += kSpanNs;
    usage.cost_ns += static_cast<uint64_t>(samples * source.sample_ns + source.drain_ns);
    if (budget.Judge(usage)) {
      ++outcome.changes;
      usage.cost_ns += static_cast<uint64_t>(source.change_ns);
      budget.RecordChange(usage);
      // What an event had counted towards its next sample is gone.
      left = 0;
    }
    if (i == spans / 2) half = usage;
  }
  outcome.overhead = static_cast<double>(usage.cost_ns - half.cost_ns) /
                     static_cast<double>(usage.cpu_ns - half.cpu_ns);
  outcome.estimate = counted / events;
  outcome.factor = budget.factor();
  return outcome;
}

const Source kClock = {1, 100'000, 3'000, 20'000, 100'000};
const Source kInstructions = {3, 10'007, 1'500, 20'000, 200'000};
const Source kTakenBranches = {0.5, 1'009, 6'000, 20'000, 200'000};

TEST_CASE("without a budget periods stay as they are, and the overhead is reported") {
  OverheadBudget budget(0);
  CHECK_FALSE(budget.Judge({kSpanNs, kSpanNs}));
  CHECK(budget.factor() == 1);
  CHECK(budget.recent() == 1.0);
}

TEST_CASE("the overhead falls below the budget, and counts stay right") {
  for (const Source& source : {kClock, kInstructions, kTakenBranches}) {
    for (const double share : {0.1, 0.01, 0.001}) {
      CAPTURE(source.period, share);
      const Outcome outcome = Run(source, share, 400);
      CHECK(outcome.overhead <= share);
      CHECK(std::abs(outcome.estimate - 1) < 0.02);
      CHECK(outcome.changes < 40);
    }
  }
}

TEST_CASE("a source that is cheap enough is left alone") {
  const Outcome outcome = Run({1, 10'000'000, 3'000, 20'000, 100'000}, 0.01, 100);
  CHECK(outcome.changes == 0);
  CHECK(outcome.factor == 1);
}

TEST_CASE("short spans of time are not judged") {
  OverheadBudget budget(0.01);
  CHECK_FALSE(budget.Judge({OverheadBudget::kMinSpanNs - 1, OverheadBudget::kMinSpanNs}));
  CHECK(budget.Judge({OverheadBudget::kMinSpanNs, OverheadBudget::kMinSpanNs}));
}

TEST_CASE("periods become shorter again when sampling has become cheap, never than asked for") {
  OverheadBudget budget(0.01);
  OverheadBudget::Usage usage = {kSpanNs, kSpanNs / 20};
  CHECK(budget.Judge(usage));
  const double longest = budget.factor();
  CHECK(longest > 5);
  int changes = 0;
  for (int i = 0; i < 1000; ++i) {
    usage.cpu_ns += kSpanNs;
    const double before = budget.factor();
    if (!budget.Judge(usage)) continue;
    ++changes;
    CHECK(budget.factor() == std::max(1.0, before / 2));
  }
  CHECK(changes >= 3);
  CHECK(budget.factor() == 1);
}

TEST_CASE("what costs more than the budget at any period makes them as long as they may be") {
  const Outcome outcome = Run({1, 1'000'000, 3'000, 50'000'000, 0}, 0.001, 200);
  CHECK(outcome.factor == OverheadBudget::kMaxFactor);
}

TEST_CASE("what longer periods do not save leaves samples half of the budget") {
  constexpr double kShare = 0.01, kFixed = 0.05, kSampleNs = 3'000, kPeriodNs = 100'000;
  OverheadBudget budget(kShare);
  OverheadBudget::Usage usage;
  double sampling_ns = 0;
  for (int i = 0; i < 400; ++i) {
    const double span_ns = kSpanNs / (kPeriodNs * budget.factor()) * kSampleNs;
    if (i >= 200) sampling_ns += span_ns;
    usage.cpu_ns += kSpanNs;
    usage.fixed_ns += static_cast<uint64_t>(kFixed * kSpanNs);
    usage.cost_ns += static_cast<uint64_t>(kFixed * kSpanNs + span_ns);
    budget.Judge(usage);
  }
  CHECK(budget.recent() > kFixed);
  CHECK(budget.factor() < 100);
  CHECK(sampling_ns / (200.0 * kSpanNs) <= kShare / 2);
}

}  // namespace
}  // namespace hbbp
