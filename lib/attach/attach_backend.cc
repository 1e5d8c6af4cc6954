// Start checks whether the process can be attached to (attach_check.h) and prepares interpreter and
// clocks. Drain, which the session calls, stops the threads that run when it is time to
// (ScanThreads, StopThreads), has the tracer interpret each (TakeBurst), and weighs and
// delivers its burst.
#include "attach/attach_backend.h"

#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <span>
#include <utility>

#include "attach/attach_check.h"
#include "attach/page_faults.h"
#include "backends/attach_choice.h"
#include "backends/pair_backend.h"
#include "backends/perf_backend_choice.h"
#include "backends/processor_timing.h"
#include "base/clock.h"
#include "base/proc_stat.h"

namespace hbbp {
namespace {

constexpr uint64_t kDefaultPeriodNs = StopBudget::kMinPeriodNs;
constexpr uint64_t kMinPeriodNs = 1'000'000;
// The first bursts of a program that starts come more often by this factor.
constexpr uint64_t kDensity = 4;
constexpr uint64_t kDenseBursts = 200;
constexpr uint64_t kMappingsIntervalNs = 1'000'000'000;
// With perf events, a switch of threads takes some 0.3 us more, which is more than half a percent
// of a shorter slice.
constexpr uint64_t kShortSliceNs = 60'000;
constexpr int kDrainIntervalMs = 100;
// A request of a server waits where the worker takes its CPU.
constexpr int kUnobservedIntervalMs = 1000;
constexpr int kLateIntervalMs = 5;
constexpr int kExecIntervalMs = 1;
constexpr int kMaxWaits = 40;
constexpr uint64_t kMaxDrainNs = 20'000'000;
// A stop aborts the restartable sequence that it finds a thread in (rseq). For so long the thread
// is not stopped again, and a sequence that takes less comes to its end.
constexpr uint64_t kRestNs = 50'000'000;

Status NotFromOutside(const char* what) {
  return MakeStatus(StatusCode::kInvalidArgument,
                    "branches of another process are traced without %s: leave it out, or start the "
                    "program under the profiler",
                    what);
}

// Keeps the list of mappings up to date by what perf events report.
class ObservedMappings : public ForwardingSink {
 public:
  ObservedMappings(MappingWatch* watch, EventSink* next) : ForwardingSink(next), watch_(*watch) {}

  void OnMapping(MappingEvent mapping) override {
    watch_.Add(mapping);
    ForwardingSink::OnMapping(std::move(mapping));
  }

 private:
  MappingWatch& watch_;
};

}  // namespace

std::unique_ptr<Backend> MakeAttachBackend() { return std::make_unique<AttachBackend>(); }

std::unique_ptr<Backend> MakeEbsAndAttachBackend() {
  return std::make_unique<PairBackend>(MakePerfBackend(SourceKind::kEbs), MakeAttachBackend());
}

Status AttachBackend::CheckOptions(const BackendConfig& config) const {
  if (config.include_kernel) {
    return MakeStatus(StatusCode::kInvalidArgument,
                      "software branch tracing sees user code only; leave the kernel out");
  }
  const bool is_of_clock =
      config.event == EventKind::kAuto || config.event == EventKind::kTaskClock;
  if (!is_of_clock) {
    return MakeStatus(StatusCode::kUnsupported,
                      "bursts of another process begin by the clock: take the event task-clock");
  }
  if (config.period_mode == PeriodMode::kFixed) return NotFromOutside("fixed periods");
  if (config.trace_mode == TraceMode::kBreakpoint) return NotFromOutside("breakpoints");
  if (config.recorded_kinds != 0) return NotFromOutside("accesses to memory and values");
  return OkStatus();
}

Status AttachBackend::Start(const BackendConfig& config, pid_t, BackendChoice* choice) {
  HBBP_RETURN_IF_ERROR(CheckOptions(config));
  HBBP_RETURN_IF_ERROR(CheckAttach(config.pid));
  pid_ = config.pid;
  is_child_ = ParentOf(pid_) == ::getpid();
  exec_watch_.reset();
  if (config.enable_on_exec && !has_executed_) exec_watch_.emplace(pid_);
  mode_ = config.trace_mode;
  HBBP_ASSIGN_OR_RETURN(tracer_, ProcessTracer::Create(pid_));
  HBBP_ASSIGN_OR_RETURN(ThreadTimes times, ThreadTimes::Open(pid_, config.threads));
  times_ = std::move(times);

  uint64_t asked_ns = config.period;
  if (config.frequency_hz != 0) asked_ns = 1'000'000'000 / config.frequency_hz;
  has_budget_ = asked_ns == 0 && config.max_overhead == 0;
  period_ns_ = asked_ns == 0 ? kDefaultPeriodNs : std::max(asked_ns, kMinPeriodNs);
  factor_ = 1;
  draw_ = PeriodDraw::SeededByTime();
  limits_ = DefaultBurstLimits(mode_, BurstExtent::kEvents);
  if (config.burst_branches != 0) limits_ = {config.burst_branches, 0, 0};
  ProcessorTiming processor = MeasureProcessor();
  // The time of threads has all of it, and not only what a hypervisor takes.
  processor.page_fault_ns = MeasurePageFaultNs();
  weights_.Begin(BurstExtent::kEvents, limits_, processor, tracer_->code_cache(),
                 config.max_buffer_bytes);
  fault_time_.emplace([pid = pid_] {
    const std::optional<ProcStat> stat = ReadProcStat(pid);
    return stat ? stat->page_faults : 0;
  });
  fault_time_->Begin(processor.page_fault_ns);

  // A backend that samples at the same time reports mappings, too.
  if (config.concurrent.empty()) ObserveMappings();

  statistics_ = TraceStatistics();
  statistics_.mode = mode_ == TraceMode::kVerify ? "verify" : "lookahead";
  statistics_.method = "threads that run are stopped from outside (ptrace), by the clock";
  counts_.clear();
  stopped_ns_ = next_ns_ = 0;
  scan_ = {};
  to_stop_.clear();
  resting_.clear();
  budget_ = StopBudget();
  is_enabled_ = true;

  SourceChoice source;
  source.kind = SourceKind::kSwbt;
  source.event = EventKind::kTaskClock;
  source.period = period_ns_;
  source.period_mode = PeriodMode::kRandom;
  source.burst_extent = BurstExtent::kEvents;
  source.note = "from outside: a burst ends at a system call; cache misses are not measured";
  if (asked_ns != 0 && asked_ns < kMinPeriodNs) {
    AppendNote("a burst each millisecond, which is as often as threads are stopped", &source.note);
  }
  choice->sources.push_back(std::move(source));
  return OkStatus();
}

void AttachBackend::ObserveMappings() {
  observer_ = std::make_unique<PerfBackend>(SourceKind::kNone);
  BackendConfig observed;
  observed.pid = pid_;
  BackendChoice ignored;
  // Without it, mappings are compared each second.
  if (!observer_->Start(observed, 0, &ignored).ok()) observer_.reset();
  mapping_watch_.emplace(pid_);
  mapping_watch_->Compare(nullptr);  // the first one delivers nothing
}

// The kernel ends the perf events of a process that executes a setuid program, and without such
// events an executed program is found a second later, and what that maps is not reported.
void AttachBackend::DeliverMappingAt(uint64_t ip, EventSink* sink) {
  if (mapping_watch_ && !mapping_watch_->Covers(ip)) mapping_watch_->Compare(sink);
}

// A burst may lead to what was mapped since the last comparison.
void AttachBackend::DeliverMissingMappings(std::span<const TakenBranch> branches, EventSink* sink) {
  if (!mapping_watch_) return;
  const auto is_unknown = [this](const TakenBranch& branch) {
    return !mapping_watch_->Covers(branch.from) || !mapping_watch_->Covers(branch.to);
  };
  if (std::any_of(branches.begin(), branches.end(), is_unknown)) mapping_watch_->Compare(sink);
}

void AttachBackend::EndObserverIfSwitchesAreMany(EventSink* sink) {
  const uint64_t slice_ns = times_->MeanSliceNs();
  if (observer_ == nullptr || slice_ns == 0 || slice_ns >= kShortSliceNs) return;
  observer_->Disable();
  DeliverMappings(sink);
  observer_->Close();
  observer_.reset();
  // The events of a process that has executed a setuid program have ended before.
  mapping_watch_->Compare(sink);
}

uint64_t AttachBackend::Period() const {
  uint64_t period_ns = period_ns_;
  if (has_budget_) {
    const bool is_dense = is_child_ && statistics_.bursts < kDenseBursts;
    period_ns = is_dense ? kDefaultPeriodNs / kDensity : budget_.PeriodNs();
  }
  return static_cast<uint64_t>(static_cast<double>(period_ns) * factor_);
}

void AttachBackend::Drain(EventSink* sink) {
  DeliverMappings(sink);
  if (is_enabled_ && !WaitsForExec()) {
    LetLateThreadsGo();
    const uint64_t now_ns = ClockNs(CLOCK_MONOTONIC);
    if (next_ns_ == 0) {
      scan_.begin_ns = now_ns;
      next_ns_ = now_ns + draw_.Next(Period());
    } else if (to_stop_.empty() && now_ns >= next_ns_) {
      ScanThreads();
    }
    if (now_ns >= next_ns_) StopThreads(sink);
    EndObserverIfSwitchesAreMany(sink);
  }
  DeliverStatistics(sink);
}

// What the process did before the exec belongs to the program that forked it.
bool AttachBackend::WaitsForExec() {
  if (!exec_watch_) return false;
  if (!exec_watch_->HasExecuted()) return true;
  exec_watch_.reset();
  has_executed_ = true;
  times_->DropTime();
  return false;
}

void AttachBackend::DeliverMappings(EventSink* sink) {
  if (observer_ != nullptr) {
    ObservedMappings observed(&*mapping_watch_, sink);
    return observer_->Drain(&observed);
  }
  if (!mapping_watch_) return;
  const uint64_t now_ns = ClockNs(CLOCK_MONOTONIC);
  if (now_ns - last_mappings_ns_ < kMappingsIntervalNs) return;
  last_mappings_ns_ = now_ns;
  mapping_watch_->Compare(sink);
}

void AttachBackend::ScanThreads() {
  const uint64_t begin_ns = ClockNs(CLOCK_MONOTONIC);
  const uint64_t begin_cpu_ns = ClockNs(CLOCK_THREAD_CPUTIME_ID);
  const uint64_t used_before_ns = times_->UsedNs();
  to_stop_ = WithoutResting(times_->ListRunning());
  std::reverse(to_stop_.begin(), to_stop_.end());
  scan_.listing_ns = ClockNs(CLOCK_THREAD_CPUTIME_ID) - begin_cpu_ns;
  scan_.elapsed_ns = begin_ns - std::exchange(scan_.begin_ns, begin_ns);
  scan_.used_ns = times_->IsKnown() ? times_->UsedNs() - used_before_ns : scan_.elapsed_ns;
  scan_.stopped_before_ns = stopped_ns_;
}

std::vector<pid_t> AttachBackend::WithoutResting(std::vector<pid_t> threads) {
  const uint64_t now_ns = ClockNs(CLOCK_MONOTONIC);
  std::erase_if(resting_, [now_ns](const auto& entry) { return entry.second <= now_ns; });
  std::erase_if(threads, [this](pid_t tid) { return resting_.contains(tid); });
  return threads;
}

// Where many threads wait for a CPU, each is waited for, and others want the lock of the session.
void AttachBackend::StopThreads(EventSink* sink) {
  const uint64_t begin_ns = ClockNs(CLOCK_MONOTONIC);
  while (!to_stop_.empty()) {
    if (!late_.empty() || ClockNs(CLOCK_MONOTONIC) - begin_ns > kMaxDrainNs) return;
    const pid_t tid = to_stop_.back();
    to_stop_.pop_back();
    StopThread(tid, sink);
  }
  if (tracer_->FlushIfFull()) weights_.ResetCode();
  const uint64_t stopped_ns = stopped_ns_ - scan_.stopped_before_ns;
  budget_.AddScan(std::max(stopped_ns, scan_.listing_ns), scan_.used_ns, scan_.elapsed_ns);
  const uint64_t period_ns = Period();
  if (period_ns > period_ns_) ++counts_["left-out"];
  next_ns_ = ClockNs(CLOCK_MONOTONIC) + draw_.Next(period_ns);
}

void AttachBackend::StopThread(pid_t tid, EventSink* sink) {
  ThreadStop& thread = late_.emplace_back(pid_, tid, is_child_);
  switch (thread.Stop()) {
    case StopOutcome::kLate:
      ++counts_["stopped-late"];
      break;
    case StopOutcome::kRefused:
      ++counts_["traced-by-another"];
      break;
    case StopOutcome::kInSignal:
      ++counts_["at-a-signal"];
      break;
    case StopOutcome::kGone:
      break;
    case StopOutcome::kStopped: {
      // Its time stands for what it did where it was found, and if that was the kernel, is dropped.
      const auto period = static_cast<double>(times_->TakeTime(tid));
      if (thread.IsInSystemCall()) {
        ++counts_["in-kernel"];
        CountStop(thread);
      } else if (thread.IsOf32Bit()) {
        ++counts_["32-bit-code"];
      } else {
        TakeBurst(&thread, tid, period, sink);
      }
      break;
    }
  }
  thread.LetGo();
  if (!thread.is_traced()) late_.pop_back();
}

// Call it in front of LetGo(): where all CPUs are busy, the thread that is let go takes this one's
// CPU at once, for some milliseconds.
void AttachBackend::CountStop(const ThreadStop& thread) {
  stopped_ns_ += ClockNs(CLOCK_MONOTONIC) - thread.stopped_since_ns();
}

void AttachBackend::TakeBurst(ThreadStop* thread, pid_t tid, double period, EventSink* sink) {
  DeliverMappingAt(thread->registers().rip, sink);
  BurstSample head;
  head.pid = static_cast<uint32_t>(pid_);
  head.tid = static_cast<uint32_t>(tid);
  TracedBurst burst = tracer_->Trace(*thread, limits_);
  if (mode_ == TraceMode::kVerify) Verify(thread, burst);
  if (thread->IsInRestartableSequence()) {
    ++counts_["in-restartable-sequence"];
    resting_[tid] = ClockNs(CLOCK_MONOTONIC) + kRestNs;
  }
  CountStop(*thread);
  thread->LetGo();
  tracer_->GrowAhead();
  DeliverMissingMappings(burst.branches, sink);
  // Behind what was just mapped.
  head.time_ns = ClockNs(CLOCK_MONOTONIC);
  statistics_.lookahead_instructions += burst.interpreted;
  statistics_.decoded_instructions += burst.decoded;
  if (burst.cost.is_cut) ++counts_[NameOf(burst.end)];
  const BurstSegment segment = {burst.branches, {}, burst.instructions};
  if (burst.branches.size() >= 2) {
    ++statistics_.bursts;
    statistics_.taken_branches += burst.branches.size();
  } else if (burst.cost.has_all_instructions) {
    ++counts_[NameOf(trace::Counter::kNoStream)];
  }
  if (burst.is_pagemap_refused) ++counts_["pagemap-refused"];
  if (burst.cost.begins_in_new_page && fault_time_->Explains(period)) {
    ++burst.cost.memory_use.page_faults;
  }
  weights_.Deliver(head, period, {&segment, 1}, burst.cost, sink);
}

void AttachBackend::Verify(ThreadStop* thread, const TracedBurst& burst) {
  const Verification verified = tracer_->Verify(thread, burst);
  statistics_.verified_branches += verified.branches + verified.disagreements;
  statistics_.disagreements += verified.disagreements;
  if (verified.registers_disagree) ++counts_["registers-disagree"];
}

void AttachBackend::LetLateThreadsGo() {
  late_.remove_if([](ThreadStop& thread) {
    (void)thread.StopLater();
    thread.LetGo();
    return !thread.is_traced();
  });
}

void AttachBackend::DeliverStatistics(EventSink* sink) const {
  TraceStatistics statistics = statistics_;
  statistics.handler_ns = stopped_ns_;
  if (fault_time_ && fault_time_->bursts() != 0) {
    statistics.counters.emplace_back("at-page-fault", fault_time_->bursts());
  }
  for (const auto& [name, count] : counts_) statistics.counters.emplace_back(name, count);
  sink->OnTraceStatistics(0, statistics);
}

Status AttachBackend::SetPeriodFactor(double factor, EventSink*) {
  factor_ = factor;
  return OkStatus();
}

uint64_t AttachBackend::BufferBytes() const {
  return weights_.MaxBytes() + (tracer_ != nullptr ? tracer_->Bytes() : 0);
}

int AttachBackend::DrainIntervalMs() const {
  if (!is_enabled_) return kDrainIntervalMs;
  if (exec_watch_) return kExecIntervalMs;
  if (!late_.empty()) return kLateIntervalMs;
  const uint64_t now_ns = ClockNs(CLOCK_MONOTONIC);
  if (now_ns >= next_ns_) return 1;
  const auto until_next_ms = static_cast<int>((next_ns_ - now_ns + 999'999) / 1'000'000);
  return std::min(until_next_ms, observer_ == nullptr ? kUnobservedIntervalMs : kDrainIntervalMs);
}

void AttachBackend::Disable() {
  is_enabled_ = false;
  to_stop_.clear();
  LetLateThreadsGo();
  if (observer_ != nullptr) observer_->Disable();
}

void AttachBackend::Close() {
  for (int waits = 0; !late_.empty() && waits < kMaxWaits; ++waits) {
    LetLateThreadsGo();
    if (!late_.empty()) ::usleep(kLateIntervalMs * 1000);
  }
  late_.clear();
  weights_.End();
  tracer_.reset();
  times_.reset();
  if (observer_ != nullptr) observer_->Close();
  observer_.reset();
  mapping_watch_.reset();
}

// The child does not trace what its parent traces.
void AttachBackend::ResetInChild() {
  is_enabled_ = false;
  late_.clear();
  weights_.End();
  tracer_.reset();
  times_.reset();
  if (observer_ != nullptr) observer_->ResetInChild();
  observer_.reset();
}

}  // namespace hbbp
