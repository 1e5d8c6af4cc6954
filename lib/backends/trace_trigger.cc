#include "backends/trace_trigger.h"

#include <linux/perf_event.h>

#include <algorithm>
#include <utility>

#include "events/period.h"
#include "perf/perf_event.h"

namespace hbbp {
namespace {

constexpr uint64_t kDefaultClockPeriodNs = 20'000'000;
constexpr uint64_t kDefaultInstructions = 150'000'000;  // and cycles
// Nowak et al. take 500,000 to 5 million, for software branch tracing.
constexpr uint64_t kDefaultTakenBranches = 5'000'000;
// These are for events of which nothing is known.
constexpr uint64_t kDefaultOfPmu = 100'003;
constexpr uint64_t kDefaultOfKernel = 997;

TraceTrigger Trigger(EventKind event, uint32_t type, uint64_t config) {
  TraceTrigger trigger;
  trigger.event = event;
  trigger.name = EventName(event);
  trigger.type = type;
  trigger.config = config;
  return trigger;
}

TraceTrigger Instructions() {
  return Trigger(EventKind::kInstructions, PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS);
}
TraceTrigger TaskClock() {
  return Trigger(EventKind::kTaskClock, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK);
}

TraceTrigger Named(const BackendConfig& config) {
  TraceTrigger trigger = Trigger(config.event, config.event_type, config.event_config);
  trigger.name = config.event_name;
  trigger.has_own_name = true;
  return trigger;
}

std::vector<TraceTrigger> Candidates(const BackendConfig& config) {
  if (!config.event_name.empty()) return {Named(config)};
  switch (config.event) {
    case EventKind::kAuto:
      // Of a clock, a period follows from the frequency.
      if (config.frequency_hz != 0) return {TaskClock()};
      return {Instructions(), TaskClock()};
    case EventKind::kInstructions:
      return {Instructions()};
    case EventKind::kCycles:
      return {Trigger(EventKind::kCycles, PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES)};
    case EventKind::kCpuClock:
      return {Trigger(EventKind::kCpuClock, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK)};
    case EventKind::kTaskClock:
      return {TaskClock()};
    default:
      return {};
  }
}

uint64_t DefaultPeriod(const TraceTrigger& trigger) {
  if (trigger.IsClock()) return kDefaultClockPeriodNs;
  if (trigger.event == EventKind::kTakenBranches) return kDefaultTakenBranches;
  if (trigger.event != EventKind::kOther) return kDefaultInstructions;
  return trigger.IsOfPmu() ? kDefaultOfPmu : kDefaultOfKernel;
}

void SetPeriod(const BackendConfig& config, TraceTrigger* trigger) {
  const uint64_t asked =
      config.frequency_hz != 0 ? 1'000'000'000 / config.frequency_hz : config.period;
  trigger->period = asked != 0 ? asked : DefaultPeriod(*trigger);
  if (config.period_mode != PeriodMode::kFixed) {
    trigger->period = LargestPrimeUpTo(trigger->period);
  }
  if (trigger->IsClock() && trigger->period < kMinTraceClockNs) {
    trigger->period = kMinTraceClockNs;
    trigger->note = "a burst each " + std::to_string(kMinTraceClockNs) +
                    " ns, which is as often as a clock can start one";
  }
  if (asked == 0 && trigger->event == EventKind::kOther) {
    trigger->note = "a burst each " + std::to_string(trigger->period) + " " + trigger->name +
                    ", since no period was asked for (-c)";
  }
}

Status NoFrequency(const TraceTrigger& trigger) {
  return MakeStatus(
      StatusCode::kInvalidArgument,
      "software branch tracing cannot take %s at a frequency: the kernel would change the period "
      "while it samples, and its signals do not say which it was; give a period (-c), or take "
      "task-clock, of which a period follows",
      trigger.name.c_str());
}

}  // namespace

bool TraceTrigger::IsOfPmu() const { return type != PERF_TYPE_SOFTWARE; }

double TraceTrigger::FastestPerNs() const {
  constexpr double kOfPmu = 20;       // instructions and cycles; nothing is more frequent
  constexpr double kOfKernel = 0.01;  // page faults
  if (IsClock()) return 1;
  return IsOfPmu() ? kOfPmu : kOfKernel;
}

BurstExtent TraceTrigger::Extent() const {
  return unit() == Unit::kInstructions || IsClock() ? BurstExtent::kEvents : BurstExtent::kStreams;
}

StatusOr<std::vector<TraceTrigger>> FindTraceTriggers(const BackendConfig& config) {
  std::vector<TraceTrigger> triggers = Candidates(config);
  if (triggers.empty()) {
    return MakeStatus(StatusCode::kInvalidArgument,
                      "software branch tracing does not know the code of the event %s: give it",
                      EventName(config.event));
  }
  for (TraceTrigger& trigger : triggers) {
    if (config.frequency_hz != 0 && !trigger.IsClock()) return NoFrequency(trigger);
    HBBP_RETURN_IF_ERROR(CheckHappensInUserCode(trigger.type, trigger.config, trigger.name));
    SetPeriod(config, &trigger);
  }
  return triggers;
}

}  // namespace hbbp
