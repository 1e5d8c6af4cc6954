#include "backends/trace_trigger.h"

#include <linux/perf_event.h>

#include "events/period.h"
#include "support/catch.h"

namespace hbbp {
namespace {

BackendConfig Named(const char* name, EventKind event, uint32_t type, uint64_t config) {
  BackendConfig backend;
  backend.event = event;
  backend.event_name = name;
  backend.event_type = type;
  backend.event_config = config;
  return backend;
}

BackendConfig PageFaults() {
  return Named("page-faults", EventKind::kOther, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS);
}
BackendConfig TakenBranches() {
  return Named("taken-branches", EventKind::kTakenBranches, PERF_TYPE_RAW, 0x20c4);
}
BackendConfig CacheMisses() {
  return Named("cache-misses", EventKind::kOther, PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES);
}

TraceTrigger OnlyTriggerOf(const BackendConfig& config) {
  const StatusOr<std::vector<TraceTrigger>> triggers = FindTraceTriggers(config);
  REQUIRE(triggers.ok());
  REQUIRE(triggers->size() == 1);
  return triggers->front();
}

TEST_CASE("any event can start bursts, with what its bursts stand for") {
  const TraceTrigger branches = OnlyTriggerOf(TakenBranches());
  CHECK(branches.type == PERF_TYPE_RAW);
  CHECK(branches.config == 0x20c4);
  CHECK(branches.unit() == Unit::kTakenBranches);
  CHECK(branches.Extent() == BurstExtent::kStreams);
  CHECK(branches.IsOfPmu());

  const TraceTrigger faults = OnlyTriggerOf(PageFaults());
  CHECK(faults.unit() == Unit::kEvents);
  CHECK(faults.Extent() == BurstExtent::kStreams);
  CHECK(!faults.IsOfPmu());
  CHECK(!faults.IsClock());
  CHECK(faults.has_own_name);

  BackendConfig config;
  config.event = EventKind::kInstructions;
  CHECK(OnlyTriggerOf(config).Extent() == BurstExtent::kEvents);
}

TEST_CASE("without an event, instructions come before a clock") {
  const StatusOr<std::vector<TraceTrigger>> triggers = FindTraceTriggers(BackendConfig());
  REQUIRE(triggers.ok());
  REQUIRE(triggers->size() == 2);
  CHECK(triggers->at(0).event == EventKind::kInstructions);
  CHECK(triggers->at(0).period == LargestPrimeUpTo(150'000'000));
  CHECK(triggers->at(1).event == EventKind::kTaskClock);
  CHECK(triggers->at(1).period == LargestPrimeUpTo(20'000'000));
}

TEST_CASE("periods are those that were asked for, or fit the event") {
  CHECK(OnlyTriggerOf(TakenBranches()).period == LargestPrimeUpTo(5'000'000));
  CHECK(OnlyTriggerOf(TakenBranches()).note.empty());
  CHECK(OnlyTriggerOf(CacheMisses()).period == 100'003);
  CHECK(OnlyTriggerOf(PageFaults()).period == 997);
  CHECK(OnlyTriggerOf(PageFaults()).note.find("997 page-faults") != std::string::npos);

  BackendConfig config = PageFaults();
  config.period = 50;
  CHECK(OnlyTriggerOf(config).period == 47);
  CHECK(OnlyTriggerOf(config).note.empty());
  config.period_mode = PeriodMode::kFixed;
  CHECK(OnlyTriggerOf(config).period == 50);
}

TEST_CASE("a frequency makes the period of a clock, and is refused with any other event") {
  BackendConfig config;
  config.frequency_hz = 250;
  config.period_mode = PeriodMode::kFixed;
  for (const EventKind event : {EventKind::kAuto, EventKind::kTaskClock, EventKind::kCpuClock}) {
    config.event = event;
    const TraceTrigger trigger = OnlyTriggerOf(config);
    CHECK(trigger.IsClock());
    CHECK(trigger.period == 4'000'000);
  }
  config.event = EventKind::kAuto;
  config.frequency_hz = 1'000'000;
  CHECK(OnlyTriggerOf(config).period == kMinTraceClockNs);
  CHECK(OnlyTriggerOf(config).note.find("as often as a clock can") != std::string::npos);

  for (BackendConfig other : {PageFaults(), TakenBranches(), CacheMisses()}) {
    other.frequency_hz = 250;
    const Status refused = FindTraceTriggers(other).status();
    CHECK(refused.code() == StatusCode::kInvalidArgument);
    CHECK(refused.message().find(other.event_name) != std::string::npos);
    CHECK(refused.message().find("-c") != std::string::npos);
  }
  config.event = EventKind::kInstructions;
  CHECK(FindTraceTriggers(config).status().code() == StatusCode::kInvalidArgument);
}

TEST_CASE("events that happen in the kernel only are refused") {
  for (const uint64_t event : {PERF_COUNT_SW_CONTEXT_SWITCHES, PERF_COUNT_SW_CPU_MIGRATIONS,
                               PERF_COUNT_SW_DUMMY, PERF_COUNT_SW_BPF_OUTPUT}) {
    const Status refused =
        FindTraceTriggers(Named("its-name", EventKind::kOther, PERF_TYPE_SOFTWARE, event)).status();
    CHECK(refused.code() == StatusCode::kUnsupported);
    CHECK(refused.message().find("its-name") != std::string::npos);
  }
}

TEST_CASE("a kind without a code is refused") {
  BackendConfig config;
  config.event = GENERATE(EventKind::kOther, EventKind::kTakenBranches, EventKind::kUops);
  CHECK(FindTraceTriggers(config).status().code() == StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace hbbp
