// PerfBackend samples every thread of the process by perf events: EBS, EBS and LBR at once, or IBS.
//
// How threads are followed depends on their number. Normally each thread has its events per CPU,
// which new threads inherit at no cost; all events of a CPU share one ring. If that takes too many
// descriptors (hundreds of threads on many CPUs), each thread has its events once and one small
// ring, and new threads are found while draining, so their first samples are missed.
#ifndef HBBP_LIB_BACKENDS_PERF_BACKEND_H_
#define HBBP_LIB_BACKENDS_PERF_BACKEND_H_

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "backends/backend.h"
#include "backends/event_plan.h"
#include "backends/sample_cost.h"
#include "base/unique_fd.h"
#include "events/period.h"
#include "perf/branch_stack_bursts.h"
#include "perf/cpu_events.h"
#include "perf/ibs_samples.h"
#include "perf/ip_correction.h"
#include "perf/ring_buffer.h"
#include "perf/sample_record.h"
#include "perf/sampling_gaps.h"

namespace hbbp {

class PerfBackend : public Backend {
 public:
  // `kind` is kEbs, kLbr, which has EBS as well, kIbs, or kNone, which takes no samples; then Drain
  // reports only mappings, names and new threads.
  explicit PerfBackend(SourceKind kind, CpuEvents cpu = FindCpuEvents(ThisCpu()))
      : kind_(kind), cpu_(std::move(cpu)) {}

  const char* name() const override;
  Status Start(const BackendConfig& config, pid_t excluded, BackendChoice* choice) override;
  void Drain(EventSink* sink) override;
  void Disable() override;
  void Close() override;
  Status SetPeriodFactor(double factor, EventSink* sink) override;
  uint64_t SamplingNs() const override { return sampling_ns_; }
  uint64_t SwitchingNs() override { return switch_cost_.SpentNs(); }
  uint64_t BufferBytes() const override {
    const uint64_t of_observer = observer_ != nullptr ? observer_->BufferBytes() : 0;
    return rings_.size() * ring_bytes_ + of_observer;
  }
  void ResetInChild() override;
  int DrainIntervalMs() const override { return drain_interval_ms_; }
  int LongestIntervalMs() const override {
    return per_thread_ ? drain_interval_ms_ : longest_interval_ms_;
  }
  bool SamplesNeedCpuTime() const override { return target_ == 0; }

  // Returns whether threads were started since the last call.
  bool TakeNewThreads() { return std::exchange(sees_new_threads_, false); }

  // Behaves as if there were so few descriptors that each thread can have events only once. It is
  // for tests.
  void PreferOneEventPerThread() { force_per_thread_ = true; }

 private:
  friend class DrawnPeriodsBackend;
  class RingRecords;

  // Event is an open event of one thread on one CPU, or on every CPU (cpu -1).
  struct Event {
    pid_t tid;
    int cpu;
    size_t planned;  // index in plan_.events
    uint64_t id;     // the id that its samples have
    UniqueFd fd;
    bool is_inherited = false;  // by threads that are born
    bool ended = false;
    bool is_counted = false;  // in the totals of ended events
  };
  struct Ring {
    int cpu;    // -1: of one thread
    pid_t tid;  // of the thread whose event it was mapped from
    int fd;     // of that event; if it is retired, it still outlives the ring
    RingBuffer buffer;
  };

  // Identity is the event of an id. To change periods, all events are opened again, as another
  // generation.
  struct Identity {
    size_t planned = 0;
    uint32_t generation = 0;
    uint64_t period = 0;            // of its samples; 0: they report it
    uint32_t tid = 0;               // the thread that it was opened for
    bool has_drawn = false;         // a random period
    bool was_sampled = false;       // that thread, since then
    uint64_t discarded_period = 0;  // what the next sample of that thread stands for as well
    // These are of DrawnPeriodsBackend.
    bool is_of_first_period = false;
    bool knows_value = false;  // samples say what it has counted
    uint64_t sampled_ns = 0;   // when its thread was sampled last
    uint64_t interval_ns = 0;  // between the last two samples of that thread
  };

  // Counts are what events have counted. They run for less than the time that they are enabled if
  // they take turns with others.
  struct Counts {
    uint64_t occurrences = 0;  // while they ran
    uint64_t enabled_ns = 0;
    uint64_t running_ns = 0;
  };
  // Totals are of all events of a kind.
  struct Totals {
    Counts ended;          // of events that are disabled
    uint64_t sampled = 0;  // occurrences that samples stand for
    SamplingGaps gaps;
  };

  // What DrawnPeriodsBackend does otherwise. Events are planned, and not opened yet.
  virtual void Prepare(const BackendConfig& /*config*/) {}
  // Returns whether a sample counts.
  virtual bool Takes(int cpu, Identity* identity, const SampleHead& sample,
                     std::span<const uint8_t> record);
  // Returns what an event has counted of a random period that another one replaces.
  virtual uint64_t DiscardedPeriod(const PlannedEvent& planned, const Identity& identity) const;
  // Drops what is known of an older thread with the same tid.
  virtual void RecordNewThread(uint32_t tid, uint64_t birth_ns);

  // Returns the number of descriptors for a session that leaves enough to the host.
  static uint64_t DescriptorBudget();
  StatusOr<EventPlan> MakePlan(const BackendConfig& config) const;
  Status AttachProcess();
  Status AttachThread(pid_t tid);
  Status AttachThreadOnCpu(pid_t tid, int cpu);
  Status Open(const PlannedEvent::Variant& variant, size_t planned, pid_t tid, int cpu);
  Status ShareRing(int fd, pid_t tid, int cpu);
  Status AttachNewThreads();
  void Deliver(int cpu, std::span<const uint8_t> record, EventSink* sink);
  void DeliverSample(int cpu, std::span<const uint8_t> record, EventSink* sink);
  void DeliverStack(const SampleHead& head, size_t planned, std::span<const uint8_t> record,
                    EventSink* sink);
  void ReportLosses(EventSink* sink);
  Status ReopenThreads(EventSink* sink);
  Status ReopenProcess(EventSink* sink);
  void RetireEvents(std::vector<Event> events);
  void ScaleAll(double factor);
  Identity* FindIdentity(uint64_t id);
  uint32_t FindSource(uint64_t id);
  void DropDecidingEvents(uint32_t tid);
  bool IsDuplicate(int cpu, const Identity& identity, const SampleHead& sample);
  void RestartGaps();
  void RedrawPeriods();
  void DisableAll(std::vector<Event>* events);
  void AddCounts(const Event& event, Counts* counts) const;
  void EndCounting(Event* event);
  double BytesPerMs() const;
  double SamplesPerMs(const SourceChoice& choice) const;
  size_t DefaultRingBytes() const;
  void ChooseDrainIntervals();

  const SourceKind kind_;
  const CpuEvents cpu_;
  bool sees_new_threads_ = false;
  bool force_per_thread_ = false;
  bool per_thread_ = false;
  EventPlan plan_;
  PeriodDraw draw_{1};
  pid_t target_ = 0;  // 0: the calling process
  pid_t pid_ = 0;     // the same, but never 0
  pid_t excluded_ = 0;
  size_t ring_bytes_ = 0;
  int drain_interval_ms_ = 1;
  int longest_interval_ms_ = 1;
  std::vector<int> cpus_;
  std::set<pid_t> attached_;
  std::vector<pid_t> only_threads_;  // sorted; empty: all
  PeriodMode period_mode_ = PeriodMode::kPrime;
  double factor_ = 1;
  uint32_t generation_ = 0;
  std::vector<Event> events_;
  // Events of earlier generations, which are disabled, but rings were mapped from them.
  std::vector<Event> retired_;
  uint64_t sampling_ns_ = 0;
  SwitchCost switch_cost_;
  // Reports mappings and new threads if the events of samples follow only some threads.
  std::unique_ptr<PerfBackend> observer_;
  bool inherits_ = true;         // the events that are opened
  bool waits_for_exec_ = false;  // likewise: until then they are disabled
  bool has_executed_ = false;    // in this run or an earlier one, as was waited for
  double factor_after_exec_ = 0;
  std::vector<Ring> rings_;
  std::map<uint64_t, Identity> identities_;  // by id
  bool has_new_threads_ = false;             // there were FORK records since AttachNewThreads
  bool may_see_twice_ = false;  // some threads may have events of their own and inherited ones
  // These are the ids of the events whose samples are delivered, by thread, CPU, planned event and
  // generation.
  std::map<std::tuple<uint32_t, int, size_t, uint32_t>, uint64_t> deciding_events_;
  BranchStackBursts bursts_;
  IpCorrection correction_;
  std::vector<IbsSamples> ibs_;  // by planned event
  std::vector<Totals> totals_;
  SampleRecord sample_;
};

}  // namespace hbbp

#endif  // HBBP_LIB_BACKENDS_PERF_BACKEND_H_
