// SwbtBackend traces branches of the calling process by software: it delivers bursts of consecutive
// taken branches, which trace/ records in signal handlers.
//
// Each thread that exists at the start gets a sampler. New threads inherit one if the kernel can do
// that (perf events with sigtrap); otherwise the worker finds them within 20 ms.
//
// Perf events make each context switch longer. By default, if the threads switch so often that this
// takes 1 % of their CPU time, timers replace the events, which cost nothing at a switch.
//
// The sampling events are not stopped during a burst; a sample that comes then is counted and
// dropped. (Those of the paper are one-shot and re-armed by the handler. That would need their
// descriptors in the table of the program, which may close them, and which counts them.)
#ifndef HBBP_LIB_BACKENDS_SWBT_H_
#define HBBP_LIB_BACKENDS_SWBT_H_

#include <linux/perf_event.h>

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "backends/backend.h"
#include "backends/blocked_time.h"
#include "backends/burst_weights.h"
#include "backends/fault_time.h"
#include "backends/mapping_watch.h"
#include "backends/perf_backend.h"
#include "backends/processor_timing.h"
#include "backends/rseq_sections.h"
#include "backends/sample_cost.h"
#include "backends/thread_sampler.h"
#include "backends/trace_trigger.h"
#include "events/period.h"
#include "trace/tracer.h"

namespace hbbp {

class SwbtBackend : public Backend {
 public:
  SwbtBackend();
  ~SwbtBackend() override;

  const char* name() const override { return "swbt"; }
  Status Start(const BackendConfig& config, pid_t excluded, BackendChoice* choice) override;
  void Drain(EventSink* sink) override;
  void Disable() override;
  void Close() override;
  Status SetPeriodFactor(double factor, EventSink* sink) override;
  bool IsProfilerSample(const IpSample& sample) const override;
  uint64_t SamplingNs() const override;
  uint64_t SwitchingNs() override { return switch_cost_.SpentNs(); }
  // This is what the time of bursts may take; the memory of the tracer belongs to the process, and
  // is never freed.
  uint64_t BufferBytes() const override {
    return weights_.MaxBytes() + (observer_ != nullptr ? observer_->BufferBytes() : 0);
  }
  void ResetInChild() override;
  void AbandonInChild() override;
  int DrainIntervalMs() const override;
  int LongestIntervalMs() const override;
  bool SamplesNeedCpuTime() const override { return true; }

  // These are for tests: they behave as if perf_event_open were refused, or as if the kernel were
  // older than 5.13, or as if the processor had been measured to be this one.
  void PreferTimers() { force_timers_ = true; }
  void PreferRealTimeSignals() { force_real_time_signals_ = true; }
  void AssumeProcessor(const ProcessorTiming& processor) { assumed_processor_ = processor; }

 private:
  // An UnfinishedSegment is one whose end was not delivered yet.
  struct UnfinishedSegment {
    std::vector<TakenBranch> branches;
    std::vector<RecordedAccess> accesses;
    uint64_t instructions = 0;
  };

  Status ChooseSampler(const BackendConfig& config, SourceChoice* choice);
  void TakeTrigger(const TraceTrigger& trigger, const BackendConfig& config);
  bool MayOpen();
  bool DrawsPeriods(const BackendConfig& config) const;
  void DrawPeriods();
  uint64_t Samples() const;
  void PrepareWeights(const BackendConfig& config);
  void ChooseBudget(const BackendConfig& config);
  void LengthenPeriod(double max_overhead);
  void KeepOutOfStep(const std::vector<ConcurrentSampler>& others, EventKind event);
  int ChooseDrainInterval(uint64_t period_of_bursts) const;
  Status AttachThreads();
  Status AttachNewThreads(size_t* found);
  Status AttachThread(pid_t tid);
  StatusOr<ThreadSampler> OpenTimer(pid_t tid, uint64_t period, uint64_t signal_data);
  void DivideFirstPeriods(pid_t tid, ThreadSampler* sampler);
  void EndFirstPeriods();
  bool HasBirths() const;
  bool HasThreadsBornNow() const;
  void DrawFirstPeriods();
  bool ThreadsMayHaveChanged();
  uint64_t ComparisonIntervalNs(uint64_t begin_ns) const;
  bool MayReplaceEvents(const BackendConfig& config) const;
  bool PrefersTimers() const;
  void ReplaceEventsIfSwitchesAreExpensive(EventSink* sink);
  StatusOr<std::map<pid_t, ThreadSampler>> OpenTimers();
  void EndTimersForRing();
  void ReplaceEventsByTimers(std::map<pid_t, ThreadSampler> timers, EventSink* sink);
  void StartObserver(size_t max_buffer_bytes);
  void StartObserverInTime(EventSink* sink);
  void DoNotObserveLater();
  void EndEarly(const char* reason);
  void EndForFilter();
  void DeliverMappingsFor(std::span<const TakenBranch> branches, EventSink* sink);
  void DeliverBurst(const trace::BurstView& view, EventSink* sink);
  double NominalPeriod(pid_t tid);
  double PeriodOf(const trace::BurstView& view);
  void DropEndedThreads();
  void DeliverSegments(std::span<const BurstSegment> segments, const trace::BurstView& view,
                       EventSink* sink);
  void DeliverStatistics(EventSink* sink);
  void AppendDisagreements(Counters* counters);
  Status RefreshMappings(EventSink* sink);
  void CheckUserfaultfd();
  void ScanBlockedSignals();

  bool force_timers_ = false;
  bool force_real_time_signals_ = false;
  std::optional<ProcessorTiming> assumed_processor_;
  bool uses_real_time_signals_ = false;
  bool has_events_ = false;        // perf_event_open works
  bool samples_by_event_ = false;  // false: by timers
  perf_event_attr attr_;
  TraceTrigger trigger_;
  uint64_t period_ = 0;
  bool begins_densely_ = false;
  BurstExtent burst_extent_ = BurstExtent::kStreams;
  trace::BurstLimits burst_limits_;  // of a burst that is not cut
  BurstWeights weights_;
  bool draws_periods_ = false;
  PeriodDraw draw_{1};
  uint64_t draws_ = 0;
  uint64_t samples_at_draw_ = 0;
  std::set<pid_t> sampled_threads_;  // since the last draw
  size_t max_known_threads_ = 0;     // with a carried period or a sample, before they are listed
  std::map<pid_t, uint64_t> drawn_periods_;  // in force, by the thread that a sampler is of
  // Of threads that began since, with the event of another one at the period that it had then.
  std::map<pid_t, uint64_t> inherited_periods_;
  uint64_t periods_with_draws_ = 0;  // that bursts of threads with samplers stand for
  double lost_periods_ = 0;          // by draws
  double lost_share_ = 0;            // of the periods of threads with samplers
  pid_t excluded_ = 0;
  std::vector<pid_t> (*own_threads_)() = nullptr;
  std::vector<pid_t> only_threads_;          // sorted; empty: all
  size_t max_events_ = 0;                    // limit for descriptors
  std::map<pid_t, ThreadSampler> samplers_;  // by the thread that they were opened for
  uint32_t last_sampler_ = 0;
  bool divides_first_periods_ = false;
  // CPU times of threads that had a sampler opened, at the latest.
  std::map<pid_t, uint64_t> first_period_ends_;
  uint64_t next_first_draw_ns_ = 0;
  // New threads inherit a sampler; if false, each needs one of its own.
  bool threads_inherit_ = false;
  double handler_share_ = 0;  // of CPU time; 0: no limit
  uint64_t signal_ns_ = 0;
  uint64_t switch_ns_ = 0;  // of a counter of the PMU
  double page_fault_ns_ = 0;
  SwitchCost switch_cost_;
  SharedStart* shared_start_ = nullptr;
  bool may_replace_events_ = false;
  bool has_ring_ = false;  // of io_uring, as of the last list of mappings
  // These are for comparisons of the time of switches with CPU time.
  uint64_t last_comparison_ns_ = 0;
  uint64_t last_cpu_ns_ = 0;
  uint64_t last_switching_ns_ = 0;
  uint64_t last_birth_ns_ = 0;  // when a thread was found
  int drain_interval_ms_ = 0;
  int dense_drain_interval_ms_ = 0;
  Wakeup* drain_request_ = nullptr;  // by handlers; nullptr: they make none
  uint64_t missed_threads_ = 0;
  uint64_t threads_by_timer_ = 0;  // with a timer for want of descriptors
  uint64_t last_thread_count_ = 0;
  uint64_t last_listing_ns_ = 0;
  uint64_t start_ns_ = 0;
  uint64_t last_mappings_ns_ = 0;
  uint64_t next_descriptors_ns_ = 0;
  uint64_t next_scan_ns_ = 0;
  FaultTime fault_time_;
  BlockedTime blocked_time_;  // with the signal of samples blocked
  RseqSections rseq_sections_;
  std::map<uint64_t, std::string> disagreement_names_;  // by address, as of the first disagreement
  std::unique_ptr<PerfBackend> observer_;  // of mappings and new threads, if there are perf events
  bool will_observe_ = false;              // it is not started yet
  MappingWatch mapping_watch_{0};          // without an observer
  bool may_compare_mappings_ = false;      // in this Drain, for code that it does not know
  bool all_handlers_ended_ = true;
  bool has_ended_early_ = false;
  int seccomp_filters_ = 0;                                        // at the start
  std::map<uint32_t, std::vector<UnfinishedSegment>> unfinished_;  // by thread
  std::string mode_;
  std::string method_;
};

}  // namespace hbbp

#endif  // HBBP_LIB_BACKENDS_SWBT_H_
