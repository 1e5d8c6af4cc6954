#include "backends/event_plan.h"

#include "events/period.h"
#include "support/catch.h"

namespace hbbp {
namespace {

PlannedEvent Hardware(SourceKind kind, uint64_t period) {
  PlannedEvent event;
  event.choice.kind = kind;
  event.choice.event = EventKind::kInstructions;
  event.choice.period = period;
  event.variants.resize(2);  // of a hybrid processor
  for (PlannedEvent::Variant& variant : event.variants) variant.attr.sample_period = period;
  return event;
}

TEST_CASE("periods of hardware events are always scaled from those of the plan") {
  PlannedEvent event = Hardware(SourceKind::kEbs, 1'000'037);
  ScalePeriods(8, PeriodMode::kPrime, &event);
  for (const PlannedEvent::Variant& variant : event.variants) {
    CHECK(variant.attr.sample_period == LargestPrimeUpTo(8'000'296));
  }
  CHECK(event.choice.period == 1'000'037);
  ScalePeriods(2, PeriodMode::kFixed, &event);
  CHECK(event.variants[1].attr.sample_period == 2'000'074);
  ScalePeriods(1, PeriodMode::kPrime, &event);
  CHECK(event.variants[0].attr.sample_period == 1'000'037);
}

TEST_CASE("drawn periods keep their mean, ops their multiple, frequencies go the other way") {
  PlannedEvent drawn = Hardware(SourceKind::kEbs, 1'000'000);
  drawn.random_period = 1'000'000;
  ScalePeriods(3, PeriodMode::kRandom, &drawn);
  CHECK(drawn.random_period == 3'000'000);
  CHECK(drawn.variants[0].attr.sample_period == 3'000'000);

  PlannedEvent ops = Hardware(SourceKind::kIbs, 160'000);
  ops.period_multiple = 16;
  ScalePeriods(1.7, PeriodMode::kPrime, &ops);
  CHECK(ops.variants[0].attr.sample_period == 272'000);
  CHECK(ops.variants[0].attr.sample_period % 16 == 0);

  PlannedEvent by_frequency = Hardware(SourceKind::kLbr, 0);
  by_frequency.choice.frequency_hz = 1000;
  for (PlannedEvent::Variant& variant : by_frequency.variants) {
    variant.attr.freq = 1;
    variant.attr.sample_freq = 1000;
  }
  ScalePeriods(4, PeriodMode::kPrime, &by_frequency);
  CHECK(by_frequency.variants[1].attr.sample_freq == 250);
  ScalePeriods(4096, PeriodMode::kPrime, &by_frequency);
  CHECK(by_frequency.variants[1].attr.sample_freq == 1);
}

TEST_CASE("a period has an end") {
  PlannedEvent event = Hardware(SourceKind::kEbs, INT64_MAX);
  ScalePeriods(4096, PeriodMode::kFixed, &event);
  CHECK(event.variants[0].attr.sample_period <= static_cast<uint64_t>(INT64_MAX));
}

}  // namespace
}  // namespace hbbp
