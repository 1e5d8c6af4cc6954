// Start chooses a sampler and a budget, starts the tracer, and opens a sampler for each thread.
// Drain, which the session calls, attaches new threads, follows mappings, and takes the parts of
// bursts from the tracer: DeliverBurst puts them together, and DeliverSegments divides the period
// of a burst among its segments. Disable and Close stop the tracer.
#include "backends/swbt.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <limits>
#include <utility>

#include "backends/observer_request.h"
#include "backends/thread_starts.h"
#include "backends/threads.h"
#include "backends/userfaultfd.h"
#include "base/clock.h"
#include "base/own_status.h"
#include "events/period.h"
#include "image/process_maps.h"
#include "perf/breakpoint_check.h"
#include "perf/perf_event.h"
#include "trace/interpreter/code_cache.h"
#include "trace/restartable_sequence.h"
#include "trace/signal_chain.h"

namespace hbbp {
namespace {

const char* ReasonName(trace::Divergence reason) {
  switch (reason) {
    case trace::Divergence::kMemoryChanged:
      return "memory changed";
    case trace::Divergence::kCodeChanged:
      return "code changed";
    case trace::Divergence::kOtherPath:
      return "signal";
    case trace::Divergence::kAtomic:
      return "atomic";
    case trace::Divergence::kReadsNotKept:
      return "reads not kept";
    default:
      return "unexplained";
  }
}

// Returns the file and the offset in it, such as "libc.so.6+0x8a2f0", or only the address if no
// file is mapped there.
std::string LocationName(uint64_t address, const std::vector<Mapping>& mappings) {
  char number[32];
  std::snprintf(number, sizeof(number), "0x%" PRIx64, address);
  const auto contains = [address](const Mapping& mapping) {
    return address >= mapping.start.value && address < mapping.end.value;
  };
  const auto found = std::find_if(mappings.begin(), mappings.end(), contains);
  if (found == mappings.end() || found->path.empty()) return number;
  const std::string name = found->path.substr(found->path.rfind('/') + 1);
  const uint64_t offset = address - found->start.value + found->offset.value;
  std::snprintf(number, sizeof(number), "+0x%" PRIx64, offset);
  return name + number;
}

// Handlers may take this part of CPU time at the default period (docs/lab/results.md has the
// measurements),
constexpr double kDefaultHandlerShare = 1.0 / 400;
// and so much besides, which pays for the first second.
constexpr uint64_t kDefaultHandlerReserveNs = 12'000'000;
// At the default period of clocks and instructions, samples come more often by this factor, and the
// first of them begin a burst each.
constexpr uint32_t kDensity = 4;
constexpr uint32_t kDenseSamples = 200;
// A period has at least this share that was not spent in handlers.
constexpr double kMinProgramShare = 0.125;
// Approximate cost of a signal that starts no burst, including the kernel's part.
uint64_t SignalNs(const TraceTrigger& trigger) {
  constexpr uint64_t kByClockNs = 5'000;
  if (!trigger.IsOfPmu()) return kByClockNs;
  return kByClockNs + InterruptNs(trigger.unit()) - InterruptNs(Unit::kNanoseconds);
}
// A new period starts at once, so that a part of the one before is lost each time.
constexpr uint64_t kSamplesByDraw = 8;
// Of periods of at least a millisecond the first sample comes after a sixteenth or more, and after
// a quarter of a millisecond at least.
constexpr uint64_t kMinDividedNs = 1'000'000;
constexpr uint64_t kMaxDivision = 16;
constexpr uint64_t kMinFirstNs = 250'000;
// So long after the last thread was born, no other one is waited for.
constexpr uint64_t kNoBirthsNs = 200'000'000;
// Threads that live at a draw are not sampled in what is left of their first period.
constexpr uint64_t kMinFirstDrawNs = 50'000'000;
constexpr uint64_t kPeriodsOfFirstDraw = 8;
// The process is scanned for new threads at this interval, if they do not inherit a sampler,
constexpr int kThreadsIntervalMs = 20;
// and at this one if there were no new threads for a while.
constexpr int kSteadyThreadsIntervalMs = 200;
// Timers replace events if switches take more than this share of CPU time,
constexpr double kExpensiveSwitchShare = 0.01;
// and more than this share of all time; otherwise scans for threads would cost as much.
constexpr double kMinSwitchShare = 0.001;
constexpr uint64_t kComparisonIntervalNs = 1'000'000'000;
// So long after the start, an observer of mappings is started.
constexpr uint64_t kObserverAfterNs = 10'000'000;
// Time until the first comparison, which is short because many processes live only for seconds. It
// doubles up to the interval: at first a server may be waiting for its client.
constexpr uint64_t kFirstComparisonNs = 50'000'000;
constexpr double kMaxDrainIntervalMs = 1000;
// The interval where handlers request a drain when their buffers fill up.
constexpr int kRequestedDrainIntervalMs = 400;
// So soon the worker knows what handlers must not touch, and that they were replaced.
constexpr int kLongestIntervalMs = 1000;
constexpr uint64_t kListingIntervalNs = 500'000'000;
constexpr uint64_t kMappingsIntervalNs = 1'000'000'000;
constexpr int kDisableTimeoutMs = 1000;
// What takes long takes a thousandth of the time.
constexpr uint64_t kCostDivisor = 1000;
// So many are known before ended ones are looked for.
constexpr size_t kMinKnownThreads = 64;
constexpr char kFilterWasSet[] =
    "the program set a seccomp filter, which may not allow what the profiler needs: stop the "
    "session before it does, or sample with EBS";
// After this time, Drain prewarms the tracer.
constexpr uint64_t kPrewarmAfterNs = 60'000'000'000;

// Number of seccomp filters of this process when tracing ended because of them. They can never be
// removed.
std::atomic<int> filters_that_ended_tracing{std::numeric_limits<int>::max()};

const char* NameOfMode(TraceMode mode) {
  switch (mode) {
    case TraceMode::kBreakpoint:
      return "breakpoint";
    case TraceMode::kVerify:
      return "verify";
    default:
      return "lookahead";
  }
}

trace::Mode ModeOf(TraceMode mode) {
  switch (mode) {
    case TraceMode::kBreakpoint:
      return trace::Mode::kBreakpoint;
    case TraceMode::kVerify:
      return trace::Mode::kVerify;
    default:
      return trace::Mode::kLookAhead;
  }
}

bool IsDefault(const BackendConfig& config) {
  return config.period == 0 && config.frequency_hz == 0 &&
         config.trace_mode == TraceMode::kLookAhead;
}

// Whoever leaves the choice of the source may have asked for what only others have.
void AddUnusedOptionsToNote(const BackendConfig& config, SourceChoice* choice) {
  if (config.ebs_method == EbsMethod::kIpPlusOne) {
    AppendNote("no instruction pointers are sampled, so nothing is corrected for IP+1",
               &choice->note);
  }
  if (config.branch_period != 0) {
    AppendNote("no branch stacks are sampled, so they have no period", &choice->note);
  }
}

// Returns the number of descriptors that leaves enough to the host.
size_t DescriptorBudget() {
  rlimit limit;
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 256;
  return std::max<size_t>(64, std::min<size_t>(limit.rlim_cur / 2, 8192));
}

// Returns whether reading the memory has effects, or its content may change at any time, because it
// belongs to a device or to the kernel.
bool IsForbidden(const Mapping& mapping) {
  for (const char* path : {"[vvar", "/sys/", "anon_inode:[vfio"}) {
    if (mapping.path.starts_with(path)) return true;
  }
  return mapping.path.starts_with("/dev/") && !mapping.path.starts_with("/dev/shm/") &&
         !mapping.path.starts_with("/dev/zero");
}

// Returns whether other processes may store to the memory of the program. They cannot store to the
// native stubs.
bool IsSharedMemory(const Mapping& mapping) {
  return mapping.shared && mapping.writable && !mapping.path.starts_with("/memfd:hbbp-") &&
         !IsForbidden(mapping) && !mapping.path.starts_with("anon_inode:");
}

// The signal of a timer ends a wait for a ring of io_uring, and no other system call: the kernel
// sends it when the thread is to return to user code, but such a wait does what the thread has left
// to do, and so sends it to itself (io_cqring_wait). It then returns EINTR, or how much was
// submitted, before anything is complete.
constexpr char kRingReason[] =
    "the program uses io_uring, and signals of timers would end its waits";

bool IsOfRing(const Mapping& mapping) { return mapping.path.starts_with("anon_inode:[io_uring]"); }

bool HasRing() {
  const StatusOr<std::vector<Mapping>> mappings = ReadProcessMaps(0);
  return mappings.ok() && std::any_of(mappings->begin(), mappings->end(), &IsOfRing);
}

const char* NameBreakpoints() {
  return BreakpointsAreHit() ? ", breakpoints" : ", no breakpoints, as none is ever hit";
}

// Returns how many links /proc/self/task has, besides one for each thread of the program.
nlink_t OwnLinks(pid_t worker) { return worker != 0 ? 3 : 2; }  // ".", "..", the worker

bool ProgramHasOneThread(pid_t worker) {
  struct stat tasks = {};
  return ::stat("/proc/self/task", &tasks) == 0 && tasks.st_nlink == OwnLinks(worker) + 1;
}

// Forked processes take what the first one has measured.
ProcessorTiming TimingFor(const BackendConfig& config) {
  if (config.processor != nullptr) return UsableHere(*config.processor);
  if (config.shared_start == nullptr) return MeasureProcessor();
  static const ProcessorTiming measured = MeasureProcessor();
  return measured;
}

}  // namespace

SwbtBackend::SwbtBackend() : attr_(MakePerfEventAttr(0, 0)) {}
SwbtBackend::~SwbtBackend() = default;

bool SwbtBackend::IsProfilerSample(const IpSample& sample) const {
  return trace::Tracer::Get().WasInHandler(sample.tid, sample.time_ns, sample.ip.value);
}

int SwbtBackend::DrainIntervalMs() const {
  const bool is_dense = begins_densely_ && trace::Tracer::Get().IsDense();
  int interval_ms = is_dense ? dense_drain_interval_ms_ : drain_interval_ms_;
  if (may_replace_events_) {
    const uint64_t until_next_ns = ComparisonIntervalNs(ClockNs(CLOCK_MONOTONIC));
    interval_ms = std::min(interval_ms, static_cast<int>(until_next_ns / 1'000'000) + 1);
  }
  const uint64_t age_ns = ClockNs(CLOCK_MONOTONIC) - start_ns_;
  if (will_observe_ && age_ns < kObserverAfterNs) {
    interval_ms =
        std::min(interval_ms, static_cast<int>((kObserverAfterNs - age_ns) / 1'000'000) + 1);
  }
  if (threads_inherit_) {
    const bool draws = divides_first_periods_ && HasBirths();
    return draws ? std::min(interval_ms, static_cast<int>(kMinFirstDrawNs / 1'000'000))
                 : interval_ms;
  }
  if (HasThreadsBornNow()) return std::min(interval_ms, kThreadsIntervalMs);
  const bool are_reported = drain_request_ != nullptr && ThreadStarts::Get().are_seen();
  return are_reported ? interval_ms : std::min(interval_ms, kSteadyThreadsIntervalMs);
}

// Returns whether there may be a new thread at any time, as at the start.
bool SwbtBackend::HasThreadsBornNow() const {
  return ClockNs(CLOCK_MONOTONIC) - std::max(start_ns_, last_birth_ns_) < kNoBirthsNs;
}

int SwbtBackend::LongestIntervalMs() const {
  const bool finds_threads = threads_inherit_ || ThreadStarts::Get().are_seen();
  const bool may_wait = drain_request_ != nullptr && finds_threads && !will_observe_;
  return may_wait && !HasThreadsBornNow() ? kLongestIntervalMs : DrainIntervalMs();
}

Status SwbtBackend::Start(const BackendConfig& config, pid_t excluded, BackendChoice* choice) {
  if (const pid_t tracer = config.pid != 0 ? TracerPid(config.pid) : 0) {
    return MakeStatus(StatusCode::kUnsupported,
                      "process %d traces process %d, as a debugger or strace, and a process can "
                      "have one tracer only",
                      tracer, config.pid);
  }
  if (config.pid != 0) {
    return MakeStatus(StatusCode::kInvalidArgument,
                      "the branches of another process are traced on request (--source swbt)");
  }
  const int filters = CountSeccompFilters();
  if (filters >= filters_that_ended_tracing) {
    return MakeStatus(StatusCode::kUnsupported,
                      "the program set a seccomp filter while it was traced, which may not allow "
                      "what the handlers of tracing need: sample with EBS");
  }
  excluded_ = excluded;
  own_threads_ = config.own_threads;
  only_threads_ = config.threads;
  max_events_ = DescriptorBudget();
  drain_request_ = config.drain_request;
  missed_threads_ = threads_by_timer_ = 0;
  last_sampler_ = 0;
  has_ended_early_ = false;
  seccomp_filters_ = filters;
  HBBP_RETURN_IF_ERROR(CheckThreads(only_threads_));
  SourceChoice source;
  source.kind = SourceKind::kSwbt;
  HBBP_RETURN_IF_ERROR(ChooseSampler(config, &source));
  const bool uses_breakpoints = has_events_ && BreakpointsAreHit();
  if (config.trace_mode != TraceMode::kLookAhead && !uses_breakpoints) {
    return MakeStatus(StatusCode::kUnsupported, "mode %s needs breakpoints: %s; take mode %s",
                      NameOfMode(config.trace_mode), kNeverHit, NameOfMode(TraceMode::kLookAhead));
  }
  if (config.concurrent.empty()) AddUnusedOptionsToNote(config, &source);
  burst_extent_ = trigger_.Extent();
  source.burst_extent = burst_extent_;
  signal_ns_ = SignalNs(trigger_);
  draws_periods_ = DrawsPeriods(config);
  source.period_mode = draws_periods_ ? PeriodMode::kRandom : config.period_mode;
  draw_ = PeriodDraw::SeededByTime();
  ChooseBudget(config);
  mode_ = NameOfMode(config.trace_mode);
  shared_start_ = config.shared_start;
  trace::TracerConfig tracer_config;
  tracer_config.mode = ModeOf(config.trace_mode);
  burst_limits_ = DefaultBurstLimits(config.trace_mode, burst_extent_);
  if (config.burst_branches != 0) burst_limits_ = {config.burst_branches, 0, 0};
  tracer_config.burst = burst_limits_;
  tracer_config.handler_share = handler_share_;
  tracer_config.handler_reserve_ns =
      config.max_overhead != 0 || handler_share_ == 0 ? 0 : kDefaultHandlerReserveNs;
  if (begins_densely_) {
    tracer_config.dense_samples = kDenseSamples;
    tracer_config.samples_by_burst = kDensity;
    // Bursts of a process that does not begin densely come as much more rarely.
    const bool is_dense = shared_start_ == nullptr || shared_start_->dense_samples < kDenseSamples;
    if (!is_dense) tracer_config.handler_reserve_ns /= kDensity;
  }
  tracer_config.shared_start = config.shared_start;
  tracer_config.may_use_breakpoints = uses_breakpoints;
  tracer_config.carries_late_samples = trigger_.IsClock();
  tracer_config.uses_real_time_signals = uses_real_time_signals_;
  if (config.trace_mode == TraceMode::kLookAhead) {
    tracer_config.recorded_kinds = config.recorded_kinds;
  }
  tracer_config.drain_request = config.drain_request;
  tracer_config.keeps_handler_times = !config.concurrent.empty();
  const int error_number = trace::Tracer::Get().Open(tracer_config);
  if (error_number == EBUSY) {
    return MakeStatus(StatusCode::kBusy,
                      "another session of this process traces branches; there can be only one at a "
                      "time, because signals and debug registers are the process's");
  }
  if (error_number != 0) return ErrnoStatus(error_number, "setting up software branch tracing");
  const bool may_have_timers = MayReplaceEvents(config);
  samples_by_event_ = has_events_ && !(may_have_timers && PrefersTimers() && !HasRing());
  may_replace_events_ = samples_by_event_ && may_have_timers;
  // What memory there may be is divided here.
  const bool observes_at_once =
      config.max_buffer_bytes != 0 || !config.may_be_brief || !ProgramHasOneThread(excluded);
  will_observe_ = samples_by_event_ && !observes_at_once;
  if (will_observe_) ObserverRequest::Get().Open(config.drain_request);
  if (samples_by_event_ && observes_at_once) StartObserver(config.max_buffer_bytes);
  PrepareWeights(config);
  start_ns_ = ClockNs(CLOCK_MONOTONIC);
  const uint64_t switch_ns = trigger_.IsOfPmu() ? switch_ns_ : ClockSwitchNs(page_fault_ns_);
  switch_cost_.Begin(0, only_threads_, excluded, samples_by_event_ ? switch_ns : 0);
  if (has_events_ && !samples_by_event_) {
    method_ = std::string("CPU-time timers of threads") + NameBreakpoints() +
              ": by context switches, perf events took too much CPU time in another process of "
              "the program; -e task-clock keeps them";
  }
  last_comparison_ns_ = start_ns_;
  last_birth_ns_ = 0;
  last_thread_count_ = 0;
  last_cpu_ns_ = ClockNs(CLOCK_PROCESS_CPUTIME_ID);
  last_switching_ns_ = 0;
  // Forbidden memory must be known before anything is interpreted.
  if (Status known = RefreshMappings(nullptr); !known.ok()) {
    Close();
    return known;
  }
  next_descriptors_ns_ = 0;
  CheckUserfaultfd();
  next_scan_ns_ = 0;
  blocked_time_.Begin(uses_real_time_signals_ ? trace::kSampleSignal : SIGTRAP);
  trace::Tracer::Get().Enable();
  threads_inherit_ = true;
  draws_ = samples_at_draw_ = 0;
  sampled_threads_.clear();
  drawn_periods_.clear();
  inherited_periods_.clear();
  first_period_ends_.clear();
  divides_first_periods_ = draws_periods_ && trigger_.IsClock() && attr_.sigtrap &&
                           period_ >= kMinDividedNs && config.max_overhead == 0;
  next_first_draw_ns_ = 0;
  Status status = AttachThreads();
  if (!status.ok() && has_events_ && !samples_by_event_) {
    samples_by_event_ = threads_inherit_ = true;
    status = AttachThreads();
  }
  periods_with_draws_ = 0;
  lost_periods_ = lost_share_ = 0;
  dense_drain_interval_ms_ = ChooseDrainInterval(period_);
  drain_interval_ms_ = ChooseDrainInterval(begins_densely_ ? kDensity * period_ : period_);
  choice->sources = {std::move(source)};
  if (!threads_inherit_) ThreadStarts::Get().SetWorker(drain_request_);
  if (!status.ok()) {
    Disable();
    Close();
  }
  return status;
}

// Without an observer, mappings are compared each second.
void SwbtBackend::StartObserver(size_t max_buffer_bytes) {
  auto observer = std::make_unique<PerfBackend>(SourceKind::kNone, CpuEvents{});
  BackendConfig observed;
  observed.max_buffer_bytes = max_buffer_bytes;
  BackendChoice ignored;
  if (observer->Start(observed, excluded_, &ignored).ok()) observer_ = std::move(observer);
}

// A process that ends before does not pay for an observer, which has a buffer for each CPU.
void SwbtBackend::StartObserverInTime(EventSink* sink) {
  if (!will_observe_) return;
  const bool is_late = ClockNs(CLOCK_MONOTONIC) - start_ns_ >= kObserverAfterNs;
  if (!is_late && !ObserverRequest::Get().is_made()) return;
  will_observe_ = false;
  if (CountSeccompFilters() > seccomp_filters_) {
    EndForFilter();
  } else if (ProgramHasOneThread(excluded_)) {  // others were started by system calls of its own
    StartObserver(0);
  }
  ObserverRequest::Get().Close();
  // An observer does not know what was mapped before it.
  if (observer_ != nullptr) mapping_watch_.Compare(sink);
}

void SwbtBackend::DoNotObserveLater() {
  will_observe_ = false;
  ObserverRequest::Get().Close();
}

// Bursts of a clock weigh by their time.
void SwbtBackend::PrepareWeights(const BackendConfig& config) {
  trace::CodeCache* code_cache = trace::Tracer::Get().code_cache();
  max_known_threads_ = kMinKnownThreads;
  std::optional<ProcessorTiming> processor;
  if (trigger_.IsClock()) {
    processor = assumed_processor_ ? *assumed_processor_ : TimingFor(config);
  }
  code_cache->SetAccessTiming(processor ? processor->accesses : trace::AccessTiming{},
                              processor && processor->page_fault_ns != 0);
  const uint64_t of_observer = observer_ != nullptr ? observer_->BufferBytes() : 0;
  const uint64_t limit = config.max_buffer_bytes;
  const uint64_t left = limit == 0 ? 0 : limit - std::min(limit - 1, of_observer);
  weights_.Begin(burst_extent_, burst_limits_, processor, code_cache, left);
  // What a page fault takes is not known better.
  constexpr double kMaxTimesPageFault = 2;
  page_fault_ns_ = processor ? processor->page_fault_ns : 0;
  fault_time_.Begin(kMaxTimesPageFault * page_fault_ns_);
}

// Chooses the best sampler that options and machine allow, and describes it in method_.
Status SwbtBackend::ChooseSampler(const BackendConfig& config, SourceChoice* choice) {
  if (config.include_kernel) {
    return MakeStatus(StatusCode::kInvalidArgument,
                      "software branch tracing sees user code only; leave the kernel out");
  }
  HBBP_ASSIGN_OR_RETURN(const std::vector<TraceTrigger> triggers, FindTraceTriggers(config));
  Status refusal;
  std::string avoided_note;
  for (const TraceTrigger& trigger : triggers) {
    if (force_timers_) break;
    TakeTrigger(trigger, config);
    if (config.period_mode == PeriodMode::kPrime) KeepOutOfStep(config.concurrent, trigger.event);
    if (!MayOpen()) {
      refusal = PerfEventOpenStatus(errno, trigger.name);
      continue;
    }
    switch_ns_ = trigger.IsOfPmu() ? SwitchNs() : 0;
    const bool is_expensive = switch_ns_ > kMaxCheapSwitchNs;
    const bool has_choice = triggers.size() > 1;
    if (has_choice && is_expensive) {
      avoided_note = SwitchCostNote(switch_ns_, true);
      continue;
    }
    has_events_ = true;
    choice->event = trigger.event;
    if (trigger.has_own_name) choice->event_name = trigger.name + ":u";
    choice->period = period_;
    choice->note = is_expensive ? SwitchCostNote(switch_ns_, false) : avoided_note;
    AppendNote(trigger.note, &choice->note);
    if (trigger.IsOfPmu()) method_ += "; " + SwitchCostText(switch_ns_);
    return OkStatus();
  }
  const bool timer_will_do = triggers.back().IsClock();
  if (!timer_will_do) {
    return force_timers_ ? MakeStatus(StatusCode::kUnsupported, "%s needs perf events",
                                      triggers.back().name.c_str())
                         : refusal;
  }
  if (config.trace_mode != TraceMode::kLookAhead) {
    return MakeStatus(StatusCode::kPermission,
                      "mode %s needs breakpoints, and without perf events there are none: %s",
                      NameOfMode(config.trace_mode), refusal.message().c_str());
  }
  switch_ns_ = 0;
  has_events_ = false;
  TakeTrigger(triggers.back(), config);
  choice->event = EventKind::kTaskClock;
  choice->period = period_;
  method_ = "CPU-time timers of threads and look-ahead alone, no breakpoints";
  if (!refusal.ok()) method_ += ": " + refusal.message();
  choice->note = method_;
  AppendNote(avoided_note, &choice->note);
  AppendNote(trigger_.note, &choice->note);
  return OkStatus();
}

void SwbtBackend::TakeTrigger(const TraceTrigger& trigger, const BackendConfig& config) {
  trigger_ = trigger;
  period_ = trigger.period;
  const bool is_rare = trigger.IsClock() || trigger.unit() == Unit::kInstructions;
  begins_densely_ = is_rare && IsDefault(config) && config.max_overhead == 0;
  if (begins_densely_) {
    period_ /= kDensity;
    if (config.period_mode != PeriodMode::kFixed) period_ = LargestPrimeUpTo(period_);
  }
  LengthenPeriod(config.max_overhead);
}

// Makes the period so long that signals take at most half of the overhead that is allowed.
void SwbtBackend::LengthenPeriod(double max_overhead) {
  if (max_overhead == 0) return;
  const double min_ns = 2 * static_cast<double>(SignalNs(trigger_)) / max_overhead;
  const double min_period = min_ns * trigger_.FastestPerNs();
  if (static_cast<double>(period_) < min_period) {
    period_ = LargestPrimeUpTo(static_cast<uint64_t>(std::min(min_period, 1e15)));
  }
}

// Changes the period if another sampler has the same event and a period in step with it. Samples of
// the two would coincide always or never, and one that coincides is in the handler and not in the
// program.
void SwbtBackend::KeepOutOfStep(const std::vector<ConcurrentSampler>& others, EventKind event) {
  for (const ConcurrentSampler& other : others) {
    if (other.event == event) period_ = PeriodOutOfStep(period_, other.period);
  }
}

bool SwbtBackend::MayOpen() {
  const auto try_to_open = [this] {
    attr_.disabled = 1;
    const UniqueFd probe(RawPerfEventOpen(attr_, 0, -1));
    attr_.disabled = 0;
    return probe.valid();
  };
  attr_ = MakeSigtrapAttr(trigger_.type, trigger_.config, period_);
  if (!only_threads_.empty()) attr_.inherit = attr_.inherit_thread = 0;
  method_ = "perf event " + trigger_.name + " with sigtrap" + NameBreakpoints();
  uses_real_time_signals_ = force_real_time_signals_;
  if (!uses_real_time_signals_) {
    if (try_to_open()) return true;
    const bool is_unknown_option = errno == EINVAL || errno == E2BIG;
    if (!is_unknown_option) return false;
  }
  uses_real_time_signals_ = true;
  attr_.sigtrap = 0;
  attr_.remove_on_exec = 0;
  attr_.inherit = 0;
  attr_.inherit_thread = 0;
  attr_.wakeup_events = 1;
  method_ = "perf event " + trigger_.name + " with real-time signals" + NameBreakpoints() +
            ": sigtrap needs Linux 5.13";
  return try_to_open();
}

// Sets the share of CPU time that handlers may take. There is no limit if the host asked for a
// period and not for a maximum overhead.
void SwbtBackend::ChooseBudget(const BackendConfig& config) {
  handler_share_ = IsDefault(config) ? kDefaultHandlerShare : 0;
  // LengthenPeriod leaves half of the overhead to signals.
  if (config.max_overhead != 0) handler_share_ = config.max_overhead / 2;
}

// Returns an interval in which at most half of the buffers fill up, if handlers do not say that
// they do.
int SwbtBackend::ChooseDrainInterval(uint64_t period_of_bursts) const {
  if (drain_request_ != nullptr) return kRequestedDrainIntervalMs;
  const double events_per_ms = trigger_.FastestPerNs() * 1e6;
  const double period_ms = static_cast<double>(period_of_bursts) / events_per_ms;
  const auto cpus = static_cast<double>(std::max(1L, ::sysconf(_SC_NPROCESSORS_ONLN)));
  const double interval_ms = trace::Tracer::kBufferedBursts / 2.0 * period_ms / cpus;
  return static_cast<int>(std::clamp(interval_ms, 1.0, kMaxDrainIntervalMs));
}

Status SwbtBackend::AttachThreads() {
  constexpr int kMaxRounds = 20;
  for (int round = 0; round < kMaxRounds; ++round) {
    size_t found = 0;
    HBBP_RETURN_IF_ERROR(AttachNewThreads(&found));
    if (found == 0) break;
  }
  if (samplers_.empty()) {
    return MakeStatus(StatusCode::kInternal, "no thread of the process could be attached to");
  }
  return OkStatus();
}

Status SwbtBackend::AttachNewThreads(size_t* found) {
  HBBP_ASSIGN_OR_RETURN(const std::vector<pid_t> alive, ListThreadsAmong(only_threads_));
  if (!threads_inherit_) {
    std::erase_if(samplers_, [&alive](const auto& sampler) {
      return !std::binary_search(alive.begin(), alive.end(), sampler.first);
    });
  }
  for (pid_t tid : alive) {
    if (tid == excluded_ || samplers_.contains(tid)) continue;
    ++*found;
    Status status = AttachThread(tid);
    const bool has_ended = status.code() == StatusCode::kNotFound;
    if (status.ok() || has_ended) continue;
    // It is an error if the first thread cannot be attached; others are counted as missed.
    if (samplers_.empty()) return status;
    ++missed_threads_;
  }
  return OkStatus();
}

// Every moment of a thread's first period is sampled equally often, so that programs which all
// begin the same way are not sampled at the same code, and a thread that ends within a period is
// seen as often as it lasts. An event has one period from its start on, so that another event does
// this; of a PMU, which has few counters, none does, nor where signals have an overhead to keep.
void SwbtBackend::DivideFirstPeriods(pid_t tid, ThreadSampler* sampler) {
  const bool has_descriptors = samplers_.size() < max_events_ / 2;
  if (!divides_first_periods_ || !has_descriptors || !sampler->HasEvent()) return;
  const uint64_t shortest = std::max(period_ / kMaxDivision, kMinFirstNs);
  sampler->DivideFirstPeriods(attr_, draw_.Between(shortest, period_), tid);
}

// Those of threads at the start of the session end with a burst, or after some CPU time.
void SwbtBackend::EndFirstPeriods() {
  std::erase_if(first_period_ends_, [this](const auto& thread) {
    const auto& [tid, end_ns] = thread;
    const uint64_t cpu_ns = CpuNsOf(tid);
    if (cpu_ns != 0 && cpu_ns < end_ns && !sampled_threads_.contains(tid)) return false;
    const auto sampler = samplers_.find(tid);
    if (sampler != samplers_.end()) sampler->second.EndFirstPeriods();
    return true;
  });
}

bool SwbtBackend::HasBirths() const {
  return last_birth_ns_ != 0 && ClockNs(CLOCK_MONOTONIC) - last_birth_ns_ < kNoBirthsNs;
}

// As long as threads are born, they inherit an event from the first thread, whose number no other
// thread or process has meanwhile; its period is drawn anew now and then. A new event is needed for
// that: if a thread switches to one with the same inherited events, the kernel exchanges the two
// sets and not their contents, so that the events which the session opened are with any of the
// threads, and end with it.
void SwbtBackend::DrawFirstPeriods() {
  const pid_t first_thread = ::getpid();
  const auto sampler = samplers_.find(first_thread);
  const bool is_inherited = sampler != samplers_.end() && sampler->second.IsInherited();
  if (!is_inherited || first_period_ends_.contains(first_thread)) return;
  if (!HasBirths() || !threads_inherit_) return sampler->second.EndFirstPeriods();
  const uint64_t now_ns = ClockNs(CLOCK_MONOTONIC);
  if (now_ns < next_first_draw_ns_) return;
  // Threads that had no sample yet lose their event, so all of them get a period of CPU time.
  const auto cpus = static_cast<uint64_t>(std::max(1L, ::sysconf(_SC_NPROCESSORS_ONLN)));
  const uint64_t for_all_ns = last_thread_count_ * period_ / cpus;
  next_first_draw_ns_ =
      now_ns + std::max({kMinFirstDrawNs, kPeriodsOfFirstDraw * period_, for_all_ns});
  DivideFirstPeriods(first_thread, &sampler->second);
}

StatusOr<ThreadSampler> SwbtBackend::OpenTimer(pid_t tid, uint64_t period, uint64_t signal_data) {
  const uint64_t first = draws_periods_ ? draw_.Between(1, period) : period;
  return ThreadSampler::OpenTimer(period, first, tid, signal_data);
}

Status SwbtBackend::AttachThread(pid_t tid) {
  const uint64_t signal_data = trace::Tracer::Get().SampleData(last_sampler_ + 1);
  const uint64_t period = draws_periods_ ? draw_.Next(period_) : period_;
  attr_.sample_period = period;
  // A timer counts time, and cannot stand in for an event that does not.
  const bool may_have_timer = trigger_.IsClock();
  const bool may_have_event =
      samples_by_event_ && (samplers_.size() < max_events_ || !may_have_timer);
  StatusOr<ThreadSampler> sampler =
      may_have_event ? ThreadSampler::OpenEvent(attr_, tid, signal_data, trace::kSampleSignal)
                     : OpenTimer(tid, period, signal_data);
  const bool is_busy = !sampler.ok() && sampler.status().code() == StatusCode::kBusy;
  if (is_busy && may_have_event && may_have_timer) {
    sampler = OpenTimer(tid, period, signal_data);
  }
  if (!sampler.ok()) return sampler.status();
  if (samples_by_event_ && !sampler->HasEvent()) ++threads_by_timer_;
  ++last_sampler_;
  if (draws_periods_) drawn_periods_[tid] = period;
  DivideFirstPeriods(tid, &*sampler);
  if (divides_first_periods_) first_period_ends_[tid] = CpuNsOf(tid) + 2 * period_;
  if (!sampler->IsInherited() && only_threads_.empty()) threads_inherit_ = false;
  samplers_.emplace(tid, *std::move(sampler));
  return OkStatus();
}

// This is cheap, because the directory has a link for each thread.
bool SwbtBackend::ThreadsMayHaveChanged() {
  const uint64_t now = ClockNs(CLOCK_MONOTONIC);
  struct stat tasks = {};
  const bool is_known = ::stat("/proc/self/task", &tasks) == 0;  // not after chroot
  const bool has_others = std::exchange(last_thread_count_, tasks.st_nlink) != tasks.st_nlink ||
                          (observer_ != nullptr && observer_->TakeNewThreads());
  const bool differs = !is_known || has_others;
  if (tasks.st_nlink > OwnLinks(excluded_) + 1) trace::Tracer::Get().SetOthersStore();
  const bool is_first = last_listing_ns_ < start_ns_;
  if (has_others && !is_first) last_birth_ns_ = now;
  if (!differs && now - last_listing_ns_ < kListingIntervalNs) return false;
  last_listing_ns_ = now;
  return true;
}

// Returns the time between a comparison at `begin_ns` and the next one.
uint64_t SwbtBackend::ComparisonIntervalNs(uint64_t begin_ns) const {
  return std::clamp(begin_ns - start_ns_, kFirstComparisonNs, kComparisonIntervalNs);
}

// Returns whether timers may replace perf events: nothing was asked for that only these have.
bool SwbtBackend::MayReplaceEvents(const BackendConfig& config) const {
  return has_events_ && attr_.sigtrap && trigger_.IsClock() && IsDefault(config) &&
         config.event == EventKind::kAuto && config.period_mode != PeriodMode::kRandom &&
         config.concurrent.empty();
}

bool SwbtBackend::PrefersTimers() const {
  return shared_start_ != nullptr && shared_start_->prefers_timers.load(std::memory_order_relaxed);
}

// Compares the time of switches with CPU time, and replaces events by timers if it is too much. It
// does not do so while threads start, because a scan would find them too late for a timer.
void SwbtBackend::ReplaceEventsIfSwitchesAreExpensive(EventSink* sink) {
  const uint64_t now_ns = ClockNs(CLOCK_MONOTONIC);
  const uint64_t interval_ns = ComparisonIntervalNs(last_comparison_ns_);
  if (!may_replace_events_ || now_ns - last_comparison_ns_ < interval_ns) return;
  const bool is_steady = last_birth_ns_ < last_comparison_ns_;
  const auto elapsed_ns = static_cast<double>(now_ns - last_comparison_ns_);
  last_comparison_ns_ = now_ns;
  const uint64_t cpu_ns = ClockNs(CLOCK_PROCESS_CPUTIME_ID);
  const uint64_t switching_ns = switch_cost_.SpentNs();
  const auto of_switches = static_cast<double>(switching_ns - last_switching_ns_);
  const auto of_all = static_cast<double>(cpu_ns - last_cpu_ns_);
  last_cpu_ns_ = cpu_ns;
  last_switching_ns_ = switching_ns;
  const bool is_expensive = of_switches > kExpensiveSwitchShare * of_all;
  if (!is_steady || !is_expensive || of_switches < kMinSwitchShare * elapsed_ns) return;
  if (HasRing()) {
    may_replace_events_ = false;
    return;
  }
  StatusOr<std::map<pid_t, ThreadSampler>> timers = OpenTimers();
  if (!timers.ok()) {
    may_replace_events_ = false;
    return;
  }
  ReplaceEventsByTimers(*std::move(timers), sink);
  // Timers find threads later than events, so processes that may have many decide for themselves.
  if (shared_start_ != nullptr && samplers_.size() == 1) {
    shared_start_->prefers_timers.store(true, std::memory_order_relaxed);
  }
  char text[192];
  std::snprintf(text, sizeof(text),
                "CPU-time timers of threads%s: by context switches, perf events took some %.1f %% "
                "of CPU time; -e task-clock keeps them",
                NameBreakpoints(), 100 * of_switches / of_all);
  method_ = text;
}

StatusOr<std::map<pid_t, ThreadSampler>> SwbtBackend::OpenTimers() {
  HBBP_ASSIGN_OR_RETURN(const std::vector<pid_t> alive, ListThreadsAmong(only_threads_));
  std::map<pid_t, ThreadSampler> timers;
  for (const pid_t tid : alive) {
    if (tid == excluded_) continue;
    const uint64_t signal_data = trace::Tracer::Get().SampleData(++last_sampler_);
    StatusOr<ThreadSampler> timer = OpenTimer(tid, period_, signal_data);
    if (timer.ok()) {
      timers.emplace(tid, *std::move(timer));
    } else if (timer.status().code() != StatusCode::kNotFound) {
      return timer.status();
    }
  }
  return timers;
}

void SwbtBackend::ReplaceEventsByTimers(std::map<pid_t, ThreadSampler> timers, EventSink* sink) {
  may_replace_events_ = samples_by_event_ = threads_inherit_ = false;
  ThreadStarts::Get().SetWorker(drain_request_);
  DoNotObserveLater();
  samplers_ = std::move(timers);
  switch_cost_.End();
  if (observer_ == nullptr) return;
  mapping_watch_.Compare(sink);
  observer_->Disable();
  observer_->Drain(sink);
  observer_->Close();
  observer_.reset();
}

// Events replace timers again, or tracing ends.
void SwbtBackend::EndTimersForRing() {
  samplers_.clear();
  samples_by_event_ = threads_inherit_ = has_events_;
  if (!has_events_ || !AttachThreads().ok()) return EndEarly(kRingReason);
  ThreadStarts::Get().SetWorker(threads_inherit_ ? nullptr : drain_request_);
  method_ =
      "perf event " + trigger_.name + " with sigtrap" + NameBreakpoints() + ": " + kRingReason;
}

void SwbtBackend::EndEarly(const char* reason) {
  if (has_ended_early_) return;
  has_ended_early_ = true;
  ThreadStarts::Get().SetWorker(nullptr);
  DoNotObserveLater();
  may_replace_events_ = false;
  for (auto& [tid, sampler] : samplers_) sampler.Stop();
  all_handlers_ended_ = trace::Tracer::Get().Disable(kDisableTimeoutMs);
  method_ += std::string("; tracing ended early: ") + reason;
}

void SwbtBackend::EndForFilter() {
  if (has_ended_early_) return;
  filters_that_ended_tracing = CountSeccompFilters();
  trace::Tracer::Get().EndForFilter();
  EndEarly(kFilterWasSet);
}

void SwbtBackend::Drain(EventSink* sink) {
  trace::Tracer& tracer = trace::Tracer::Get();
  if (tracer.failure() == trace::TracerFailure::kStackOverflow) {
    EndEarly("the stack of the interpreter overflowed: please report");
  } else if (tracer.failure() == trace::TracerFailure::kSystemCallRefused) {
    EndForFilter();
  }
  if (tracer.is_enabled()) {
    trace::ReclaimSignals();
    // A blocked thread may hold a lock that the rest of Drain needs, so it is interrupted first.
    if (tracer.InterruptBlockedReads()) {
      next_descriptors_ns_ = 0;
      CheckUserfaultfd();
    }
  }
  if (observer_ != nullptr) observer_->Drain(sink);
  const bool mappings_are_old = ClockNs(CLOCK_MONOTONIC) - last_mappings_ns_ >= kMappingsIntervalNs;
  // On failure the ranges stay as they were.
  if (mappings_are_old) (void)RefreshMappings(sink);
  const bool is_last = !tracer.is_enabled() && !has_ended_early_;
  if ((mappings_are_old && !has_ended_early_) || is_last) ScanBlockedSignals();
  may_compare_mappings_ = observer_ == nullptr;
  if (tracer.is_enabled()) {
    if (ClockNs(CLOCK_MONOTONIC) - start_ns_ >= kPrewarmAfterNs) tracer.Prewarm();
    if (ThreadsMayHaveChanged()) {
      tracer.FreeSlotsOfEnded();
      // Threads that cannot be attached to are counted as missed.
      size_t found = 0;
      if (!threads_inherit_) (void)AttachNewThreads(&found);
    }
    const uint64_t since_draw = Samples() - samples_at_draw_;
    const bool is_time_to_draw = since_draw >= kSamplesByDraw * sampled_threads_.size();
    if (draws_periods_ && since_draw > 0 && is_time_to_draw) DrawPeriods();
    if (mappings_are_old && CountSeccompFilters() > seccomp_filters_) EndForFilter();
    CheckUserfaultfd();
    if (has_ring_ && !samples_by_event_ && !has_ended_early_) EndTimersForRing();
    ReplaceEventsIfSwitchesAreExpensive(sink);
    StartObserverInTime(sink);
  }
  const bool take_unfinished = !tracer.is_enabled() && all_handlers_ended_;
  tracer.Drain(take_unfinished, [&](const trace::BurstView& view) { DeliverBurst(view, sink); });
  if (tracer.is_enabled()) {
    EndFirstPeriods();
    DrawFirstPeriods();
  }
  DropEndedThreads();
  if (tracer.code_cache()->FlushIfFull()) weights_.ResetCode();
  DeliverStatistics(sink);
}

// A program that does the same again and again keeps step with a fixed period, be it prime or not:
//
//   for (;;) { for (int i = 0; i < 500000; ++i) Decide(); for (int i = 0; i < 3500; ++i) Sum(); }
//
// With a burst each 20 ms, mixes of its two loops were off by 2 to 46 %, and by 0 to 11 % with
// periods that were drawn.
bool SwbtBackend::DrawsPeriods(const BackendConfig& config) const {
  if (config.period_mode == PeriodMode::kRandom) return true;
  return config.period_mode == PeriodMode::kPrime && (trigger_.IsClock() || begins_densely_);
}

// Draws a new period for each thread with bursts since the last draw. What is over of the period
// before is lost, half of it on average. A thread that inherited its event keeps the period of its
// start: if the main thread draws one that is an eighth too long, starts four threads and waits for
// them, there is an eighth less of their samples than at the nominal period.
void SwbtBackend::DrawPeriods() {
  ++draws_;
  samples_at_draw_ = Samples();
  for (const pid_t tid : sampled_threads_) {
    const auto sampler = samplers_.find(tid);
    if (sampler == samplers_.end()) continue;
    const uint64_t drawn = draw_.Next(period_);
    sampler->second.SetPeriod(drawn);
    drawn_periods_[tid] = drawn;
    lost_periods_ += 0.5;
  }
  sampled_threads_.clear();
  if (periods_with_draws_ != 0) {
    lost_share_ = lost_periods_ / static_cast<double>(periods_with_draws_);
  }
}

// Returns what the samples of a thread stand for on average. Those that began since the start of
// the session are taken to have been started by the main thread.
double SwbtBackend::NominalPeriod(pid_t tid) {
  const auto period = static_cast<double>(period_);
  if (samplers_.contains(tid) || !threads_inherit_) return period * (1 + lost_share_);
  const auto [inherited, is_new] = inherited_periods_.try_emplace(tid, period_);
  if (is_new) {
    const auto main = drawn_periods_.find(::getpid());
    if (main != drawn_periods_.end()) inherited->second = main->second;
  }
  return static_cast<double>(inherited->second);
}

// Between two comparisons, code may have been mapped that is executed already.
void SwbtBackend::DeliverMappingsFor(std::span<const TakenBranch> branches, EventSink* sink) {
  if (!may_compare_mappings_) return;
  const bool is_known =
      std::all_of(branches.begin(), branches.end(),
                  [this](const TakenBranch& branch) { return mapping_watch_.Covers(branch.from); });
  if (is_known) return;
  may_compare_mappings_ = false;
  mapping_watch_.Compare(sink);
}

void SwbtBackend::DeliverBurst(const trace::BurstView& view, EventSink* sink) {
  const auto tid = static_cast<pid_t>(view.tid);
  if (draws_periods_) sampled_threads_.insert(tid);
  if (samplers_.contains(tid)) periods_with_draws_ += view.periods;
  const std::span<const TakenBranch> branches(view.branches, view.count);
  DeliverMappingsFor(branches, sink);
  const auto begun = unfinished_.find(view.tid);
  const bool is_whole = begun == unfinished_.end() && view.end == trace::PartEnd::kLast;
  if (is_whole) {
    const BurstSegment whole = {branches, {}, view.instructions};
    return DeliverSegments({&whole, 1}, view, sink);
  }
  std::vector<UnfinishedSegment>& segments = unfinished_[view.tid];
  if (segments.empty()) segments.emplace_back();
  UnfinishedSegment& segment = segments.back();
  segment.instructions += view.instructions;
  segment.branches.insert(segment.branches.end(), branches.begin(), branches.end());
  segment.accesses.insert(segment.accesses.end(), view.accesses, view.accesses + view.access_count);
  if (view.end == trace::PartEnd::kAfterGap) segments.emplace_back();
  if (view.end != trace::PartEnd::kLast) return;
  std::vector<BurstSegment> finished;
  finished.reserve(segments.size());
  for (const UnfinishedSegment& part : segments) {
    finished.push_back({part.branches, part.accesses, part.instructions});
  }
  DeliverSegments(finished, view, sink);
  unfinished_.erase(view.tid);
}

// Returns the occurrences of the event in the program that the burst stands for. A clock also runs
// in handlers.
double SwbtBackend::PeriodOf(const trace::BurstView& view) {
  const double nominal = NominalPeriod(static_cast<pid_t>(view.tid)) * view.periods;
  if (!trigger_.IsClock()) return nominal;
  const auto of_handlers = static_cast<double>(view.cost.handlers_ns + signal_ns_ * view.periods);
  return std::max(nominal - of_handlers, kMinProgramShare * nominal);
}

// Threads end without notice, so all are listed when the number of those known has doubled.
void SwbtBackend::DropEndedThreads() {
  const size_t known = weights_.threads() + sampled_threads_.size() + inherited_periods_.size();
  if (known <= max_known_threads_) return;
  const StatusOr<std::vector<pid_t>> alive = ListThreads(0);
  if (!alive.ok()) return;
  const auto has_ended = [&alive](pid_t tid) {
    return !std::binary_search(alive->begin(), alive->end(), tid);
  };
  weights_.DropThreads(has_ended);
  std::erase_if(sampled_threads_, has_ended);
  std::erase_if(inherited_periods_, [&](const auto& thread) { return has_ended(thread.first); });
  const size_t left = weights_.threads() + sampled_threads_.size() + inherited_periods_.size();
  max_known_threads_ = std::max(kMinKnownThreads, 2 * left);
}

void SwbtBackend::DeliverSegments(std::span<const BurstSegment> segments,
                                  const trace::BurstView& view, EventSink* sink) {
  BurstSample head;
  head.pid = static_cast<uint32_t>(::getpid());
  head.tid = view.tid;
  head.time_ns = view.time_ns;
  const double period = PeriodOf(view);
  trace::BurstCost cost = view.cost;
  if (cost.begins_in_new_page && fault_time_.Explains(period)) ++cost.memory_use.page_faults;
  weights_.Deliver(head, period, segments, cost, sink);
}

void SwbtBackend::DeliverStatistics(EventSink* sink) {
  using trace::Counter;
  uint64_t sums[trace::kCounters];
  trace::Tracer::Get().ReadCounters(sums);
  const auto sum_of = [&sums](Counter counter) { return sums[static_cast<int>(counter)]; };
  TraceStatistics statistics;
  statistics.mode = mode_;
  statistics.method = method_;
  statistics.bursts = sum_of(Counter::kBursts);
  statistics.taken_branches = sum_of(Counter::kTakenBranches);
  statistics.breakpoints = sum_of(Counter::kBreakpoints);
  statistics.lookahead_instructions = sum_of(Counter::kInstructions);
  statistics.decoded_instructions = sum_of(Counter::kDecoded);
  statistics.verified_branches = sum_of(Counter::kVerified);
  statistics.disagreements =
      sum_of(Counter::kDisagreements) + sum_of(Counter::kDisagreementReadsNotKept);
  statistics.handler_ns = sum_of(Counter::kHandlerNs);
  for (int i = 0; i < trace::kCounters; ++i) {
    const char* counter_name = trace::NameOf(static_cast<Counter>(i));
    if (counter_name != nullptr && sums[i] != 0) {
      statistics.counters.emplace_back(counter_name, sums[i]);
    }
  }
  AppendDisagreements(&statistics.counters);
  if (fault_time_.bursts() != 0) {
    statistics.counters.emplace_back("at-page-fault", fault_time_.bursts());
  }
  if (draws_ != 0) statistics.counters.emplace_back("period-draws", draws_);
  if (missed_threads_ != 0) statistics.counters.emplace_back("missed-threads", missed_threads_);
  if (threads_by_timer_ != 0) {
    statistics.counters.emplace_back("threads-by-timer", threads_by_timer_);
  }
  const uint64_t blocked_ms = blocked_time_.ns() / 1'000'000;
  if (blocked_ms != 0) statistics.counters.emplace_back("signal-blocked-ms", blocked_ms);
  sink->OnTraceStatistics(0, statistics);
}

// Adds a counter for each location and reason, such as "wrong at libc.so.6+0x8a2f0 (atomic)".
void SwbtBackend::AppendDisagreements(Counters* counters) {
  std::vector<Mapping> mappings;
  const auto name_of = [&](uint64_t address) -> const std::string& {
    std::string& name = disagreement_names_[address];
    if (!name.empty()) return name;
    if (mappings.empty()) {
      StatusOr<std::vector<Mapping>> read = ReadProcessMaps(0);
      if (read.ok()) mappings = std::move(*read);
    }
    return name = LocationName(address, mappings);
  };
  trace::Tracer::Get().disagreement_log().Visit(
      [&](trace::Divergence reason, uint64_t address, uint64_t count) {
        const std::string name = "wrong at " + name_of(address) + " (" + ReasonName(reason) + ")";
        AddCounter(name.c_str(), count, counters);
      });
}

// Updates the ranges that look-ahead must not read, and those where no breakpoint may be. Delivers
// new mappings to a sink.
Status SwbtBackend::RefreshMappings(EventSink* sink) {
  last_mappings_ns_ = ClockNs(CLOCK_MONOTONIC);
  trace::Tracer::Get().ReleaseUnused();
  HBBP_ASSIGN_OR_RETURN(const std::vector<Mapping> mappings, ReadProcessMaps(0));
  if (observer_ == nullptr) mapping_watch_.Compare(mappings, last_mappings_ns_, sink);
  has_ring_ = std::any_of(mappings.begin(), mappings.end(), &IsOfRing);
  std::vector<trace::ForbiddenRange> forbidden;
  for (const Mapping& mapping : mappings) {
    if (IsSharedMemory(mapping)) trace::Tracer::Get().SetOthersStore();
    if (!IsForbidden(mapping)) continue;
    forbidden.push_back({mapping.start.value, mapping.end.value});
  }
  trace::Tracer::Get().code_cache()->SetForbiddenRanges(forbidden.data(), forbidden.size());
  const std::vector<trace::SequenceRange> sequences = rseq_sections_.Find(mappings);
  trace::SetRestartableSequences(sequences.data(), sequences.size());
  return OkStatus();
}

// Checks so rarely that it takes at most a thousandth of the time for any number of descriptors.
void SwbtBackend::CheckUserfaultfd() {
  trace::CodeCache& code_cache = *trace::Tracer::Get().code_cache();
  const uint64_t begin_ns = ClockNs(CLOCK_MONOTONIC);
  if (code_cache.reads_may_block() || begin_ns < next_descriptors_ns_) return;
  if (HasUserfaultfd()) code_cache.SetReadsMayBlock();
  const uint64_t cost_ns = ClockNs(CLOCK_MONOTONIC) - begin_ns;
  next_descriptors_ns_ = begin_ns + std::max(kMappingsIntervalNs, cost_ns * kCostDivisor);
}

// Lists the threads so rarely that it takes at most a thousandth of the time.
void SwbtBackend::ScanBlockedSignals() {
  const uint64_t begin_ns = ClockNs(CLOCK_MONOTONIC);
  if (begin_ns < next_scan_ns_) return;
  StatusOr<std::vector<pid_t>> threads = ListThreadsAmong(only_threads_);
  if (!threads.ok()) return;
  std::vector<pid_t> own = own_threads_ == nullptr ? std::vector<pid_t>() : own_threads_();
  own.push_back(excluded_);
  std::erase_if(*threads, [&own](pid_t tid) { return std::ranges::find(own, tid) != own.end(); });
  blocked_time_.Scan(*threads, [](pid_t tid) {
    return trace::Tracer::Get().IsInHandler(static_cast<uint32_t>(tid));
  });
  next_scan_ns_ = begin_ns + (ClockNs(CLOCK_MONOTONIC) - begin_ns) * kCostDivisor;
}

// Divides the time that handlers have for bursts; a burst stands for the samples that were dropped
// before it.
Status SwbtBackend::SetPeriodFactor(double factor, EventSink*) {
  if (handler_share_ == 0) {
    return MakeStatus(StatusCode::kUnsupported, "a period that was asked for is kept");
  }
  trace::Tracer::Get().SetHandlerShare(handler_share_ / factor);
  return OkStatus();
}

uint64_t SwbtBackend::Samples() const {
  uint64_t sums[trace::kCounters];
  trace::Tracer::Get().ReadCounters(sums);
  return sums[static_cast<int>(trace::Counter::kBursts)] +
         sums[static_cast<int>(trace::Counter::kOverBudget)] +
         sums[static_cast<int>(trace::Counter::kLeftOut)];
}

uint64_t SwbtBackend::SamplingNs() const {
  uint64_t sums[trace::kCounters];
  trace::Tracer::Get().ReadCounters(sums);
  return sums[static_cast<int>(trace::Counter::kHandlerNs)] + Samples() * signal_ns_;
}

void SwbtBackend::Disable() {
  ThreadStarts::Get().SetWorker(nullptr);
  DoNotObserveLater();
  for (auto& [tid, sampler] : samplers_) sampler.Stop();
  all_handlers_ended_ = trace::Tracer::Get().Disable(kDisableTimeoutMs);
  if (observer_ != nullptr) observer_->Disable();
}

void SwbtBackend::Close() {
  samplers_.clear();
  if (observer_ != nullptr) observer_->Close();
  observer_.reset();
  unfinished_.clear();
  weights_.End();
  mapping_watch_.Reset();
  trace::Tracer::Get().Close();
}

void SwbtBackend::ResetInChild() {
  ThreadStarts::Get().SetWorker(nullptr);
  DoNotObserveLater();
  for (auto& [tid, sampler] : samplers_) sampler.ResetInChild();
  samplers_.clear();
  if (observer_ != nullptr) observer_->ResetInChild();
  observer_.reset();
  unfinished_.clear();
  weights_.End();
  mapping_watch_.Reset();
  trace::Tracer::Get().ResetInChild();
}

void SwbtBackend::AbandonInChild() {
  ThreadStarts::Get().SetWorker(nullptr);
  trace::Tracer::Get().ResetInChild();
}

}  // namespace hbbp
