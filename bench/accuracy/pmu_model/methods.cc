#include "pmu_model/methods.h"

#include <algorithm>

#include "events/period.h"
#include "perf/perf_event.h"
#include "pmu_model/random.h"

namespace hbbp::simulation {
namespace {

constexpr uint64_t kPreciseDistCode = 0x01c0;
constexpr uint64_t kNearTakenCode = 0x20c4;
constexpr uint64_t kSampleType = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID |
                                 PERF_SAMPLE_TIME | PERF_SAMPLE_PERIOD;

MethodEvent Event(const char* name, uint32_t type, uint64_t config, uint32_t precise_ip,
                  const EventParameters& parameters) {
  MethodEvent event = {name, MakePerfEventAttr(type, config), parameters};
  CounterParameters& counter = event.parameters.counter;
  if (counter.period_mode == PeriodMode::kPrime && counter.period > 1) {
    counter.period = LargestPrimeUpTo(counter.period);
  }
  event.attr.sample_period = counter.period;
  event.attr.sample_type = kSampleType;
  event.attr.sample_id_all = 1;
  event.attr.precise_ip = precise_ip & 3;
  event.attr.exclude_kernel = 1;
  if (parameters.with_stack) {
    event.attr.sample_type |= PERF_SAMPLE_BRANCH_STACK;
    event.attr.branch_sample_type = PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_ANY;
  }
  return event;
}

MethodEvent Instructions(Capture capture, uint32_t precise_ip, PeriodMode mode, bool with_stack,
                         const MethodOptions& options) {
  EventParameters parameters = {CountedEvent::kInstructions, capture, with_stack, {}};
  parameters.counter = {options.period, options.period_mode.value_or(mode), 0,
                        options.samples_by_draw};
  const char* name = precise_ip == 0 ? "simulated-instructions:u" : "simulated-instructions:up";
  return Event(name, PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, precise_ip, parameters);
}

MethodEvent PreciseDist(const MethodOptions& options) {
  EventParameters parameters = {CountedEvent::kInstructions, Capture::kPreciseDist, false, {}};
  parameters.counter = {options.period, options.period_mode.value_or(PeriodMode::kPrime), 0,
                        options.samples_by_draw};
  return Event("simulated-inst_retired.prec_dist:uppp", PERF_TYPE_RAW, kPreciseDistCode, 3,
               parameters);
}

MethodEvent TakenBranches(const MethodOptions& options) {
  EventParameters parameters = {CountedEvent::kTakenBranches, Capture::kInterrupt, true, {}};
  parameters.counter = {options.branch_period, options.period_mode.value_or(PeriodMode::kPrime), 0,
                        options.samples_by_draw};
  return Event("simulated-br_inst_retired.near_taken:u", PERF_TYPE_RAW, kNearTakenCode, 0,
               parameters);
}

std::vector<MethodEvent> EventsWithoutPhase(std::string_view name, const MethodOptions& options) {
  const auto precise = [&options](PeriodMode mode, bool with_stack) {
    return std::vector{Instructions(Capture::kPebs, 1, mode, with_stack, options)};
  };
  if (name == "default") {
    return {Instructions(Capture::kInterrupt, 0, PeriodMode::kFixed, false, options)};
  }
  if (name == "precise") return precise(PeriodMode::kFixed, false);
  if (name == "prime") return precise(PeriodMode::kPrime, false);
  if (name == "random") return precise(PeriodMode::kRandom, false);
  if (name == "ip+1") return precise(PeriodMode::kPrime, true);
  if (name == "prec_dist") return {PreciseDist(options)};
  if (name == "lbr") return {TakenBranches(options)};
  std::vector<MethodEvent> both = EventsWithoutPhase(options.hybrid_ebs, options);
  both.push_back(TakenBranches(options));
  return both;
}

}  // namespace

const std::vector<std::string>& MethodNames() {
  static const std::vector<std::string> names = {"default", "precise",   "prime", "random",
                                                 "ip+1",    "prec_dist", "lbr",   "hybrid"};
  return names;
}

const std::vector<std::string>& EbsMethodNames() {
  static const std::vector<std::string> names = {"default", "precise", "prime", "random",
                                                 "prec_dist"};
  return names;
}

std::vector<MethodEvent> MakeEvents(std::string_view name, const MethodOptions& options) {
  std::vector<MethodEvent> events = EventsWithoutPhase(name, options);
  Random random(options.seed);
  for (MethodEvent& event : events) {
    CounterParameters& counter = event.parameters.counter;
    counter.phase =
        options.phase.value_or(1 + random.Bits() % std::max<uint64_t>(counter.period, 1));
  }
  return events;
}

}  // namespace hbbp::simulation
