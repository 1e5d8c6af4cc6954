// The Plan functions, which PerfBackend calls when it starts, list candidates for this processor,
// and try them from the best: FindOptions opens each with the most precise options that the kernel
// accepts. The note of the event that is taken names those that were refused. PerfBackend calls
// ScalePeriods later, to change the periods of a plan.
#include "backends/event_plan.h"

#include <asm/perf_regs.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "backends/sample_cost.h"
#include "events/period.h"
#include "perf/perf_event.h"

namespace hbbp {
namespace {

constexpr uint64_t kDefaultClockPeriodNs = 10'000'000;
// The kernel takes shorter periods of clocks as 10 us, but reports those that were asked for.
constexpr uint64_t kMinClockPeriodNs = 10'007;

constexpr uint64_t kIbsPeriodMultiple = 16;

// The default frequency for events of kOther, which may be frequent or rare.
constexpr uint64_t kFrequencyOfOtherHz = 997;

// Default periods by expected run time, from Table 4 of the paper.
struct HardwarePeriods {
  uint64_t shorter_than_s;
  uint64_t events;
  uint64_t taken_branches;
};
constexpr HardwarePeriods kSeconds = {30, 1'000'037, 100'003};
constexpr HardwarePeriods kAMinuteOrTwo = {180, 10'000'019, 1'000'037};
constexpr HardwarePeriods kMinutes = {UINT64_MAX, 100'000'007, 10'000'019};

const HardwarePeriods& PeriodsFor(uint64_t expected_s) {
  if (expected_s == 0) return kAMinuteOrTwo;
  for (const HardwarePeriods* periods : {&kSeconds, &kAMinuteOrTwo}) {
    if (expected_s < periods->shorter_than_s) return *periods;
  }
  return kMinutes;
}

// A Candidate is an event that may become one of the plan.
struct Candidate {
  EventKind kind;
  CpuEvent event;
};

CpuEvent Generic(const char* name, uint32_t type, uint64_t config) {
  return {name, {{type, config, {}}}};
}

Candidate TaskClock() {
  return {EventKind::kTaskClock,
          Generic("task-clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK)};
}
Candidate CpuClock() {
  return {EventKind::kCpuClock, Generic("cpu-clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK)};
}
Candidate Cycles() {
  return {EventKind::kCycles, Generic("cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES)};
}
Candidate GenericInstructions() {
  return {EventKind::kInstructions,
          Generic("instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS)};
}

bool IsClock(EventKind kind) { return UnitOf(kind) == Unit::kNanoseconds; }

perf_event_attr BaseAttr(const PmuEvent& event, bool include_kernel) {
  perf_event_attr attr = MakePerfEventAttr(event.type, event.config);
  attr.sample_type = kPlannedSampleType;
  attr.exclude_kernel = include_kernel ? 0 : 1;
  attr.exclude_hv = 1;
  attr.inherit = 1;
  attr.sample_id_all = 1;
  attr.watermark = 1;
  attr.use_clockid = 1;
  attr.clockid = CLOCK_MONOTONIC;
  return attr;
}

void ObserveProcess(perf_event_attr* attr) {
  attr->mmap = 1;
  attr->mmap2 = 1;
  attr->comm = 1;
  attr->task = 1;
}

// Returns 0 if the kernel accepts all variants, else errno.
int TryAll(const std::vector<PlannedEvent::Variant>& variants) {
  for (const PlannedEvent::Variant& variant : variants) {
    const int cpu = variant.cpus.empty() ? -1 : variant.cpus.front();
    const UniqueFd probe(RawPerfEventOpen(variant.attr, 0, cpu));
    if (!probe.valid()) return errno;
  }
  return 0;
}

// Finds options with which this kernel and PMU open the event; returns 0, or errno of the last
// attempt if there are none.
int FindOptions(int max_precise_ip, PlannedEvent* event) {
  int error_number = 0;
  for (int precise_ip = max_precise_ip; precise_ip >= 0; --precise_ip) {
    for (const bool is_modern : {true, false}) {
      for (PlannedEvent::Variant& variant : event->variants) {
        variant.attr.precise_ip = static_cast<unsigned>(precise_ip) & 3;
        variant.attr.build_id = is_modern && variant.attr.mmap2 != 0;
        // Names of BPF programs, which may be unloaded before the recording ends.
        variant.attr.ksymbol =
            is_modern && variant.attr.mmap2 != 0 && variant.attr.exclude_kernel == 0;
        variant.attr.inherit_thread = is_modern;
      }
      error_number = TryAll(event->variants);
      if (error_number == 0) return 0;
    }
  }
  return error_number;
}

void SetPeriod(const BackendConfig& config, uint64_t period, PlannedEvent* event) {
  const EventKind kind = event->choice.event;
  if (config.period_mode == PeriodMode::kPrime) period = LargestPrimeUpTo(period);
  if (IsClock(kind)) period = std::max(period, kMinClockPeriodNs);
  event->choice.period = period;
  // Clocks report the period that they were opened with even if it changes, so it must be the mean.
  if (config.period_mode == PeriodMode::kRandom) event->random_period = period;
  for (PlannedEvent::Variant& variant : event->variants) {
    variant.attr.freq = 0;
    variant.attr.sample_period = period;
  }
}

void SetFrequency(uint64_t frequency_hz, PlannedEvent* event) {
  event->choice.frequency_hz = frequency_hz;
  for (PlannedEvent::Variant& variant : event->variants) {
    variant.attr.freq = 1;
    variant.attr.sample_freq = frequency_hz;
  }
}

PlannedEvent Plan(SourceKind kind, const Candidate& candidate, const BackendConfig& config) {
  PlannedEvent event;
  event.choice.kind = kind;
  event.choice.event = candidate.kind;
  for (const PmuEvent& pmu : candidate.event.pmus) {
    event.variants.push_back({BaseAttr(pmu, config.include_kernel), pmu.cpus});
  }
  return event;
}

// Returns the name as perf writes it, such as "INST_RETIRED.PREC_DIST:upp".
std::string PerfName(const Candidate& candidate, const PlannedEvent& event) {
  const perf_event_attr& attr = event.variants.front().attr;
  std::string name = candidate.event.name;
  if (attr.exclude_kernel || attr.precise_ip != 0) name += ":";
  if (attr.exclude_kernel) name += "u";
  name.append(attr.precise_ip, 'p');
  return name;
}

// Lists the events that are unavailable, such as "instructions: EOPNOTSUPP".
class Refusals {
 public:
  void Add(const std::string& what, int error_number) {
    if (!text_.empty()) text_ += ", ";
    text_ += what + ": " + ErrnoName(error_number);
    last_ = error_number;
    last_name_ = what;
  }
  bool empty() const { return text_.empty(); }
  const std::string& text() const { return text_; }
  Status ToStatus() const { return PerfEventOpenStatus(last_, last_name_); }

 private:
  static std::string ErrnoName(int error_number) {
    const char* name = strerrorname_np(error_number);
    return name != nullptr ? name : std::to_string(error_number);
  }

  std::string text_;
  int last_ = 0;
  std::string last_name_;
};

void AddRefusalsToNote(const Refusals& refusals, const Candidate& taken, SourceChoice* choice) {
  if (refusals.empty()) return;
  AppendNote(taken.event.name + " instead of " + refusals.text(), &choice->note);
}

std::vector<Candidate> EbsCandidates(const BackendConfig& config, const CpuEvents& cpu) {
  if (!config.event_name.empty()) {
    return {{config.event, {config.event_name, {{config.event_type, config.event_config, {}}}}}};
  }
  const EventKind wanted = config.event;
  const Candidate of_cpu = {EventKind::kInstructions, cpu.instructions};
  std::vector<Candidate> candidates;
  switch (wanted) {
    case EventKind::kCpuClock:
      return {CpuClock()};
    case EventKind::kTaskClock:
      return {TaskClock()};
    case EventKind::kCycles:
      return {Cycles()};
    default:
      if (!cpu.are_generic) candidates.push_back(of_cpu);
      candidates.push_back(GenericInstructions());
      if (wanted == EventKind::kAuto) candidates.push_back(TaskClock());
      return candidates;
  }
}

uint64_t StackKinds(const BackendConfig& config) {
  const uint64_t kernel = config.include_kernel ? PERF_SAMPLE_BRANCH_KERNEL : 0;
  return PERF_SAMPLE_BRANCH_ANY | PERF_SAMPLE_BRANCH_USER | kernel;
}

void TakeStacks(const BackendConfig& config, PlannedEvent* event) {
  for (PlannedEvent::Variant& variant : event->variants) {
    variant.attr.sample_type |= PERF_SAMPLE_BRANCH_STACK;
    variant.attr.branch_sample_type = StackKinds(config);
  }
}

void TakeUserIp(PlannedEvent* event) {
  for (PlannedEvent::Variant& variant : event->variants) {
    if (variant.attr.exclude_kernel == 0) continue;
    variant.attr.sample_type |= PERF_SAMPLE_REGS_USER;
    variant.attr.sample_regs_user = 1ull << PERF_REG_X86_IP;
  }
}

void DropStacks(PlannedEvent* event) {
  for (PlannedEvent::Variant& variant : event->variants) {
    variant.attr.sample_type &= ~static_cast<uint64_t>(PERF_SAMPLE_BRANCH_STACK);
    variant.attr.branch_sample_type = 0;
  }
}

void SetUsualPeriod(const BackendConfig& config, PlannedEvent* event) {
  const EventKind kind = event->choice.event;
  if (config.frequency_hz != 0) {
    SetFrequency(config.frequency_hz, event);
  } else if (config.period != 0) {
    SetPeriod(config, config.period, event);
  } else if (kind == EventKind::kOther) {
    SetFrequency(kFrequencyOfOtherHz, event);
  } else {
    const uint64_t usual =
        IsClock(kind) ? kDefaultClockPeriodNs : PeriodsFor(config.expected_seconds).events;
    SetPeriod(config, usual, event);
  }
}

// The kernel takes a sample at each occurrence of an event of its own, with the period 1, if
// samples report their period. Those of clocks and of frequencies are timed otherwise.
void KeepPeriodOfKernelEvent(PlannedEvent* event) {
  for (PlannedEvent::Variant& variant : event->variants) {
    const bool is_of_kernel = variant.attr.type == PERF_TYPE_SOFTWARE;
    if (!is_of_kernel || IsClock(event->choice.event) || variant.attr.freq != 0) continue;
    variant.attr.sample_type &= ~static_cast<uint64_t>(PERF_SAMPLE_PERIOD);
  }
}

// Adds stacks, which correct instruction pointers, if the kernel accepts them; samples are useful
// without them too.
int FindOptionsWithStacks(const BackendConfig& config, int max_precise_ip, PlannedEvent* event) {
  TakeStacks(config, event);
  if (FindOptions(max_precise_ip, event) == 0) {
    event->choice.ebs_method = EbsMethod::kIpPlusOne;
    return 0;
  }
  DropStacks(event);
  return FindOptions(max_precise_ip, event);
}

void AddMissingOptionsToNote(const BackendConfig& config, bool is_hardware, SourceChoice* choice) {
  if (is_hardware && choice->precise_ip == 0 && !config.imprecise) {
    AppendNote("no precise events here, so samples lie behind what they are of", &choice->note);
  }
  if (config.ebs_method == EbsMethod::kIpPlusOne && choice->ebs_method == EbsMethod::kPlain) {
    AppendNote("no branch stacks with these samples, so nothing is corrected for IP+1",
               &choice->note);
  }
}

// `has_other_counters` says that other events of the plan are counters of the PMU, so that context
// switches are expensive anyway.
StatusOr<PlannedEvent> PlanInstructionPointers(const BackendConfig& config, const CpuEvents& cpu,
                                               bool has_other_counters) {
  constexpr int kMaxPreciseIp = 3;
  if (!config.include_kernel) {
    HBBP_RETURN_IF_ERROR(
        CheckHappensInUserCode(config.event_type, config.event_config, config.event_name));
  }
  Refusals refusals;
  std::string avoided_note;
  for (const Candidate& candidate : EbsCandidates(config, cpu)) {
    PlannedEvent event = Plan(SourceKind::kEbs, candidate, config);
    for (PlannedEvent::Variant& variant : event.variants) ObserveProcess(&variant.attr);
    SetUsualPeriod(config, &event);
    KeepPeriodOfKernelEvent(&event);
    const bool is_hardware = candidate.event.pmus.front().type != PERF_TYPE_SOFTWARE;
    const int max_precise_ip = is_hardware && !config.imprecise ? kMaxPreciseIp : 0;
    if (is_hardware) TakeUserIp(&event);
    const bool takes_stacks = is_hardware && config.ebs_method == EbsMethod::kIpPlusOne;
    const int error_number = takes_stacks ? FindOptionsWithStacks(config, max_precise_ip, &event)
                                          : FindOptions(max_precise_ip, &event);
    if (error_number != 0) {
      refusals.Add(candidate.event.name, error_number);
      continue;
    }
    event.switch_ns = is_hardware ? SwitchNs() : 0;
    const bool has_choice = config.event == EventKind::kAuto && config.event_name.empty();
    if (has_choice && !has_other_counters && event.switch_ns > kMaxCheapSwitchNs) {
      avoided_note = SwitchCostNote(event.switch_ns, true);
      continue;
    }
    AppendNote(avoided_note, &event.choice.note);
    AppendNote(SwitchCostNote(event.switch_ns, false), &event.choice.note);
    event.choice.precise_ip = event.variants.front().attr.precise_ip;
    if (is_hardware || !config.event_name.empty()) {
      event.choice.event_name = PerfName(candidate, event);
    }
    AddMissingOptionsToNote(config, is_hardware, &event.choice);
    AddRefusalsToNote(refusals, candidate, &event.choice);
    return event;
  }
  return refusals.ToStatus();
}

std::vector<Candidate> StackCandidates(const CpuEvents& cpu) {
  // The kernel's own event counts branches that are not taken too, so its periods have no unit.
  std::vector<Candidate> candidates;
  if (!cpu.are_generic) candidates.push_back({EventKind::kTakenBranches, cpu.taken_branches});
  candidates.push_back({EventKind::kOther, Generic("branches", PERF_TYPE_HARDWARE,
                                                   PERF_COUNT_HW_BRANCH_INSTRUCTIONS)});
  candidates.push_back(Cycles());
  return candidates;
}

uint64_t StackPeriod(const BackendConfig& config, EventKind kind) {
  if (config.branch_period != 0) return config.branch_period;
  const HardwarePeriods& usual = PeriodsFor(config.expected_seconds);
  return kind == EventKind::kCycles ? usual.events : usual.taken_branches;
}

StatusOr<PlannedEvent> PlanBranchStacks(const BackendConfig& config, const CpuEvents& cpu) {
  Refusals refusals;
  for (const Candidate& candidate : StackCandidates(cpu)) {
    PlannedEvent event = Plan(SourceKind::kLbr, candidate, config);
    TakeStacks(config, &event);
    // Branch sampling of AMD's Zen 3 (BRS) takes periods only.
    const bool may_have_frequency =
        config.frequency_hz != 0 && config.branch_period == 0 && !cpu.has_branch_sampling;
    if (may_have_frequency) {
      SetFrequency(config.frequency_hz, &event);
    } else {
      SetPeriod(config, StackPeriod(config, candidate.kind), &event);
    }
    const int error_number = FindOptions(0, &event);
    if (error_number != 0) {
      refusals.Add(candidate.event.name + " with branch stacks", error_number);
      continue;
    }
    event.switch_ns = SwitchNs();
    event.choice.event_name = PerfName(candidate, event);
    if (cpu.has_branch_sampling) {
      event.choice.note = "BRS instead of LBR, which this processor does not have: 16 branches";
      const bool is_replaced = config.frequency_hz != 0 && config.branch_period == 0;
      if (is_replaced) event.choice.note += ", a period instead of a frequency";
    }
    AddRefusalsToNote(refusals, candidate, &event.choice);
    return event;
  }
  return refusals.ToStatus();
}

Candidate IbsCandidate(IbsKind kind, PeriodMode mode, const CpuEvents& cpu) {
  constexpr uint64_t kCountDispatchedOps = 1 << 19;
  constexpr uint64_t kDrawLowBits = uint64_t{1} << 57;
  const bool is_of_ops = kind == IbsKind::kOp;
  const bool is_fixed = mode == PeriodMode::kFixed;
  const char* const name = is_of_ops  ? "ibs_op/cnt_ctl=1/"
                           : is_fixed ? "ibs_fetch//"
                                      : "ibs_fetch/rand_en=1/";
  const uint64_t config = is_of_ops ? kCountDispatchedOps : is_fixed ? 0 : kDrawLowBits;
  return {is_of_ops ? EventKind::kUops : EventKind::kOther,
          Generic(name, is_of_ops ? cpu.ibs_op_type : cpu.ibs_fetch_type, config)};
}

// The hardware draws the lowest 7 bits of an op's period itself, always, and the lowest 4 of a
// fetch's if it is asked to.
void SetIbsPeriod(const BackendConfig& config, PlannedEvent* event) {
  const uint64_t wanted =
      config.period != 0 ? config.period : PeriodsFor(config.expected_seconds).events;
  const uint64_t period = RoundedPeriod(*event, wanted);
  event->choice.period = period;
  for (PlannedEvent::Variant& variant : event->variants) variant.attr.sample_period = period;
  if (config.period_mode == PeriodMode::kRandom) event->random_period = period;
  const bool is_fixed = config.period_mode == PeriodMode::kFixed;
  event->choice.period_mode = is_fixed ? PeriodMode::kFixed : PeriodMode::kRandom;
}

Status AddIbsEvent(IbsKind kind, const BackendConfig& config, const CpuEvents& cpu,
                   EventPlan* plan) {
  constexpr uint64_t kFilterInSoftware = 1;
  const bool is_of_ops = kind == IbsKind::kOp;
  if ((is_of_ops ? cpu.ibs_op_type : cpu.ibs_fetch_type) == 0) {
    return MakeStatus(StatusCode::kUnsupported,
                      "no PMU %s in sysfs; IBS needs an AMD processor, family 10h or newer, "
                      "outside a virtual machine",
                      is_of_ops ? "ibs_op" : "ibs_fetch");
  }
  if (is_of_ops && config.period_mode == PeriodMode::kFixed) {
    return MakeStatus(StatusCode::kInvalidArgument,
                      "ibs_op has no fixed periods: the hardware draws their lowest 7 bits");
  }
  const Candidate candidate = IbsCandidate(kind, config.period_mode, cpu);
  plan->events.push_back(Plan(SourceKind::kIbs, candidate, config));
  PlannedEvent& event = plan->events.back();
  event.ibs_kind = kind;
  event.period_multiple = kIbsPeriodMultiple;
  perf_event_attr& attr = event.variants.front().attr;
  if (plan->events.size() == 1) ObserveProcess(&attr);
  attr.sample_type |= PERF_SAMPLE_RAW;
  if (config.frequency_hz != 0) {
    SetFrequency(config.frequency_hz, &event);
  } else {
    SetIbsPeriod(config, &event);
  }
  int error_number = FindOptions(0, &event);
  if (error_number == EINVAL && attr.exclude_kernel != 0) {
    attr.config2 = kFilterInSoftware;
    error_number = FindOptions(0, &event);
  }
  if (error_number == EINVAL && attr.exclude_kernel != 0) {
    attr.config2 = 0;
    attr.exclude_kernel = attr.exclude_hv = 0;
    event.drops_kernel = true;
    error_number = FindOptions(0, &event);
  }
  if (error_number != 0) return PerfEventOpenStatus(error_number, candidate.event.name);
  event.choice.event_name = candidate.event.name;
  if (event.drops_kernel) {
    event.choice.note =
        "IBS of this kernel cannot leave the kernel out, so its samples are dropped";
  }
  return OkStatus();
}

}  // namespace

StatusOr<EventPlan> PlanEbs(const BackendConfig& config, const CpuEvents& cpu) {
  EventPlan plan;
  HBBP_ASSIGN_OR_RETURN(PlannedEvent pointers, PlanInstructionPointers(config, cpu, false));
  plan.events.push_back(std::move(pointers));
  return plan;
}

StatusOr<EventPlan> PlanLbr(const BackendConfig& config, const CpuEvents& cpu) {
  HBBP_ASSIGN_OR_RETURN(PlannedEvent stacks, PlanBranchStacks(config, cpu));
  EventPlan plan;
  HBBP_ASSIGN_OR_RETURN(PlannedEvent pointers, PlanInstructionPointers(config, cpu, true));
  plan.events.push_back(std::move(pointers));
  plan.events.push_back(std::move(stacks));
  return plan;
}

StatusOr<EventPlan> PlanIbs(const BackendConfig& config, const CpuEvents& cpu) {
  const std::string& name = config.event_name;
  EventPlan plan;
  const IbsKinds kinds = IbsKindsOf(name.empty() ? "ibs_op" : name);
  if (kinds.has_ops) HBBP_RETURN_IF_ERROR(AddIbsEvent(IbsKind::kOp, config, cpu, &plan));
  if (kinds.has_fetches) HBBP_RETURN_IF_ERROR(AddIbsEvent(IbsKind::kFetch, config, cpu, &plan));
  return plan;
}

void ScalePeriods(double factor, PeriodMode mode, PlannedEvent* event) {
  const SourceChoice& choice = event->choice;
  const auto scaled = [factor](uint64_t period) {
    return static_cast<uint64_t>(
        std::min(static_cast<double>(period) * factor, static_cast<double>(INT64_MAX / 2)));
  };
  uint64_t period = scaled(choice.period);
  if (choice.kind == SourceKind::kIbs) {
    period = RoundedPeriod(*event, period);
  } else if (mode == PeriodMode::kPrime && factor != 1) {
    period = LargestPrimeUpTo(period);
  }
  if (event->random_period != 0) event->random_period = period;
  const double frequency = static_cast<double>(choice.frequency_hz) / factor;
  for (PlannedEvent::Variant& variant : event->variants) {
    if (variant.attr.freq != 0) {
      variant.attr.sample_freq = std::max<uint64_t>(1, static_cast<uint64_t>(frequency));
    } else {
      variant.attr.sample_period = period;
    }
  }
}

uint64_t RoundedPeriod(const PlannedEvent& event, uint64_t period) {
  const uint64_t multiple = event.period_multiple;
  return std::max(period / multiple, uint64_t{1}) * multiple;
}

StatusOr<EventPlan> PlanObservation() {
  PlannedEvent event;
  event.variants.push_back(
      {BaseAttr({PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY, {}}, /*include_kernel=*/false), {}});
  ObserveProcess(&event.variants.front().attr);
  const int error_number = FindOptions(0, &event);
  if (error_number != 0) return PerfEventOpenStatus(error_number, "dummy");
  EventPlan plan;
  plan.events.push_back(std::move(event));
  return plan;
}

}  // namespace hbbp
