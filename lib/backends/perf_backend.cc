// Start plans events, and AttachProcess opens them for each thread and CPU, with a ring for each
// CPU. Drain, which the session calls, reads the rings: DeliverSample and DeliverStack turn samples
// into IP samples and bursts of the source of their id, and RingRecords turns the other records
// into events. SetPeriodFactor opens the next generation of events, and Disable and Close end them.
#include "backends/perf_backend.h"

#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <utility>

#include "backends/sample_cost.h"
#include "backends/threads.h"
#include "base/cpu_list.h"
#include "perf/mmap_mapping.h"
#include "perf/perf_event.h"
#include "perf/record_visitor.h"

namespace hbbp {
namespace {

constexpr RecordFormat kRecordFormat = {.sample_type = kPlannedSampleType};

// What read() returns of an event, before its value is brought to the time that it was enabled.
constexpr uint64_t kReadFormat = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;

// Of a ring for all that one CPU may write. The smallest has room for hundreds of mappings at once;
// pages of rings take time to be provided, and count as locked memory.
constexpr int64_t kMinDefaultRingBytes = 64 * 1024;
constexpr int64_t kMaxDefaultRingBytes = 256 * 1024;
// Between two drains of a program that uses CPU time.
constexpr double kLongestIntervalMs = 400;
constexpr size_t kPerThreadRingBytes = 32 * 1024;
constexpr size_t kMinRingBytes = 8 * 1024;

EventKind EventOfStacks(const EventPlan& plan) {
  for (const PlannedEvent& planned : plan.events) {
    if (planned.HasStack()) return planned.choice.event;
  }
  return EventKind::kOther;
}

// Returns whether an event counts what it has samples of; a clock counts time in the kernel always.
bool CountsWhatItSamples(const PlannedEvent& planned) {
  const perf_event_attr& attr = planned.variants.front().attr;
  return planned.ibs_kind == IbsKind::kNone &&
         (attr.type != PERF_TYPE_SOFTWARE || attr.exclude_kernel == 0);
}

bool Contains(const std::vector<int>& cpus, int cpu) {
  return std::find(cpus.begin(), cpus.end(), cpu) != cpus.end();
}

}  // namespace

uint64_t PerfBackend::DescriptorBudget() {
  rlimit limit;
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 256;
  return std::max<uint64_t>(64, std::min<uint64_t>(limit.rlim_cur / 4, 8192));
}

const char* PerfBackend::name() const {
  switch (kind_) {
    case SourceKind::kLbr:
      return "lbr";
    case SourceKind::kIbs:
      return "ibs";
    default:
      return "ebs";
  }
}

StatusOr<EventPlan> PerfBackend::MakePlan(const BackendConfig& config) const {
  switch (kind_) {
    case SourceKind::kNone:
      return PlanObservation();
    case SourceKind::kLbr:
      return PlanLbr(config, cpu_);
    case SourceKind::kIbs:
      return PlanIbs(config, cpu_);
    default:
      return PlanEbs(config, cpu_);
  }
}

Status PerfBackend::Start(const BackendConfig& config, pid_t excluded, BackendChoice* choice) {
  target_ = config.pid;
  pid_ = target_ != 0 ? target_ : ::getpid();
  correction_ = IpCorrection();
  excluded_ = excluded;
  HBBP_ASSIGN_OR_RETURN(plan_, MakePlan(config));
  bursts_.BeginRun(EventOfStacks(plan_));
  ibs_.clear();
  for (const PlannedEvent& planned : plan_.events) {
    ibs_.emplace_back(planned.ibs_kind, cpu_.ibs_quirks);
  }
  totals_ = std::vector<Totals>(plan_.events.size());
  HBBP_ASSIGN_OR_RETURN(cpus_, ListOnlineCpus());
  only_threads_ = config.threads;
  period_mode_ = config.period_mode;
  factor_ = 1;
  sampling_ns_ = 0;
  waits_for_exec_ = config.enable_on_exec && !has_executed_;
  factor_after_exec_ = 0;
  HBBP_RETURN_IF_ERROR(CheckThreads(only_threads_, target_));
  HBBP_ASSIGN_OR_RETURN(std::vector<pid_t> threads, ListThreadsAmong(only_threads_, target_));
  per_thread_ =
      force_per_thread_ || threads.size() * cpus_.size() * plan_.events.size() > DescriptorBudget();
  ring_bytes_ = config.buffer_bytes != 0 ? config.buffer_bytes : DefaultRingBytes();
  if (per_thread_) ring_bytes_ = std::min(ring_bytes_, kPerThreadRingBytes);
  const size_t rings = per_thread_ ? threads.size() : cpus_.size();
  while (config.max_buffer_bytes != 0 && rings * ring_bytes_ > config.max_buffer_bytes) {
    ring_bytes_ /= 2;
    if (ring_bytes_ >= kMinRingBytes) continue;
    return MakeStatus(StatusCode::kInvalidArgument,
                      "max_memory is too small for the buffers of %zu %s; allow at least %zu bytes",
                      rings, per_thread_ ? "threads" : "CPUs", 4 * rings * kMinRingBytes);
  }
  uint64_t switch_ns = 0;
  for (const PlannedEvent& planned : plan_.events) switch_ns += planned.switch_ns;
  switch_cost_.Begin(target_, only_threads_, excluded, switch_ns);
  Prepare(config);
  for (PlannedEvent& planned : plan_.events) {
    planned.sample_ns =
        InterruptNs(UnitOf(planned.choice.event)) + (planned.HasStack() ? kBranchStackNs : 0);
    for (PlannedEvent::Variant& variant : planned.variants) {
      // The kernel need not wake up any reader where the ring is drained by time.
      if (variant.attr.watermark) variant.attr.wakeup_watermark = UINT32_MAX;
      variant.attr.read_format = kReadFormat;
      if (!per_thread_ && only_threads_.empty()) continue;
      variant.attr.inherit = 0;
      variant.attr.inherit_thread = 0;
    }
    if (per_thread_) {
      AppendNote(
          "one event per thread, because threads times CPUs exceed the descriptors; the first "
          "100 ms of a new thread may be missed",
          &planned.choice.note);
    }
  }
  draw_ = PeriodDraw::SeededByTime();
  ChooseDrainIntervals();
  if (!only_threads_.empty()) {
    observer_ = std::make_unique<PerfBackend>(SourceKind::kNone, cpu_);
    BackendConfig everything;
    everything.pid = target_;
    everything.max_buffer_bytes = config.max_buffer_bytes;
    BackendChoice ignored;
    // Without it, only the mappings of the start are known.
    if (!observer_->Start(everything, excluded, &ignored).ok()) observer_.reset();
  }
  Status status = AttachProcess();
  if (!status.ok()) {
    Close();
    return status;
  }
  RedrawPeriods();
  for (const PlannedEvent& planned : plan_.events) choice->sources.push_back(planned.choice);
  return status;
}

// A thread that starts meanwhile inherits all events of its parent, some of them or none, depending
// on how many its parent had then, which cannot be found out. So it gets events of its own, and
// IsDuplicate drops the samples that come twice.
Status PerfBackend::AttachProcess() {
  constexpr int kMaxRounds = 20;
  for (int round = 0; round < kMaxRounds; ++round) {
    HBBP_ASSIGN_OR_RETURN(std::vector<pid_t> threads, ListThreadsAmong(only_threads_, target_));
    bool found = false;
    for (pid_t tid : threads) {
      if (tid == excluded_ || !attached_.insert(tid).second) continue;
      found = true;
      HBBP_RETURN_IF_ERROR(AttachThread(tid));
    }
    if (!found) break;
    if (round > 0 && !per_thread_) may_see_twice_ = true;
  }
  if (events_.empty()) {
    return MakeStatus(StatusCode::kInternal, "no thread of the process could be attached to");
  }
  return OkStatus();
}

Status PerfBackend::AttachThread(pid_t tid) {
  if (per_thread_) return AttachThreadOnCpu(tid, -1);
  for (int cpu : cpus_) HBBP_RETURN_IF_ERROR(AttachThreadOnCpu(tid, cpu));
  return OkStatus();
}

Status PerfBackend::AttachThreadOnCpu(pid_t tid, int cpu) {
  for (size_t i = 0; i < plan_.events.size(); ++i) {
    for (const PlannedEvent::Variant& variant : plan_.events[i].variants) {
      const bool is_of_this_cpu = cpu < 0 || variant.cpus.empty() || Contains(variant.cpus, cpu);
      if (is_of_this_cpu) HBBP_RETURN_IF_ERROR(Open(variant, i, tid, cpu));
    }
  }
  return OkStatus();
}

Status PerfBackend::Open(const PlannedEvent::Variant& variant, size_t planned, pid_t tid, int cpu) {
  perf_event_attr attr = variant.attr;
  if (waits_for_exec_) attr.disabled = attr.enable_on_exec = 1;
  if (!inherits_) attr.inherit = attr.inherit_thread = 0;
  UniqueFd fd(RawPerfEventOpen(attr, tid, cpu));
  if (!fd.valid()) {
    const bool thread_ended = errno == ESRCH;
    const bool cpu_went_offline = errno == ENODEV && cpu >= 0;
    if (thread_ended || cpu_went_offline) return OkStatus();
    const SourceChoice& choice = plan_.events[planned].choice;
    return PerfEventOpenStatus(
        errno, choice.event_name.empty() ? EventName(choice.event) : choice.event_name);
  }
  HBBP_RETURN_IF_ERROR(ShareRing(fd.get(), tid, cpu));
  uint64_t id = 0;
  if (::ioctl(fd.get(), PERF_EVENT_IOC_ID, &id) != 0) {
    return ErrnoStatus(errno, "PERF_EVENT_IOC_ID");
  }
  const bool reports_period = (variant.attr.sample_type & PERF_SAMPLE_PERIOD) != 0;
  identities_[id] = {planned, generation_, reports_period ? 0 : variant.attr.sample_period,
                     static_cast<uint32_t>(tid)};
  events_.push_back({tid, cpu, planned, id, std::move(fd), attr.inherit != 0});
  return OkStatus();
}

// Redirects the event to the ring of its CPU, or else of its thread, or maps that ring.
Status PerfBackend::ShareRing(int fd, pid_t tid, int cpu) {
  const auto shared = std::find_if(rings_.begin(), rings_.end(), [&](const Ring& ring) {
    return cpu >= 0 ? ring.cpu == cpu : ring.tid == tid;
  });
  if (shared != rings_.end()) {
    if (::ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, shared->fd) != 0) {
      return ErrnoStatus(errno, "PERF_EVENT_IOC_SET_OUTPUT");
    }
    return OkStatus();
  }
  HBBP_ASSIGN_OR_RETURN(RingBuffer buffer, RingBuffer::Map(fd, ring_bytes_));
  rings_.push_back({cpu, tid, fd, std::move(buffer)});
  return OkStatus();
}

void PerfBackend::Drain(EventSink* sink) {
  if (observer_ != nullptr) observer_->Drain(sink);
  for (Ring& ring : rings_) {
    ring.buffer.Consume([&](std::span<const uint8_t> record) { Deliver(ring.cpu, record, sink); });
  }
  if (per_thread_ && has_new_threads_) {
    // A thread that cannot be attached to is missed, which the note of the source announces.
    (void)AttachNewThreads();
  }
  RedrawPeriods();
  ReportLosses(sink);
  if (factor_after_exec_ != 0 && !waits_for_exec_) {
    // Without it, samples have the period that they report, which is shorter.
    (void)SetPeriodFactor(std::exchange(factor_after_exec_, 0), sink);
  }
}

void PerfBackend::ReportLosses(EventSink* sink) {
  // Of more, what they count is known when they have ended, since each takes a system call.
  constexpr size_t kFewEvents = 32;
  const bool are_few = events_.size() <= kFewEvents;
  for (uint32_t i = 0; i < plan_.events.size(); ++i) {
    TraceStatistics statistics;
    AddCounter("guest-samples", plan_.events[i].guest_samples, &statistics.counters);
    Counts counts = totals_[i].ended;
    for (const Event& event : events_) {
      if (event.planned == i && !event.is_counted && are_few) AddCounts(event, &counts);
    }
    if (counts.running_ns != 0 && !may_see_twice_) {
      const double turns =
          static_cast<double>(counts.enabled_ns) / static_cast<double>(counts.running_ns);
      AddCounter("counted-events",
                 static_cast<uint64_t>(static_cast<double>(counts.occurrences) * turns),
                 &statistics.counters);
    }
    if (plan_.events[i].ibs_kind == IbsKind::kNone) {
      AddCounter("sampled-events", totals_[i].sampled, &statistics.counters);
    }
    if (plan_.events[i].HasStack()) {
      bursts_.losses().AppendTo(&statistics.counters);
      if (bursts_.extent_unit() == BurstExtent::kEvents) {
        sink->OnBurstExtent(i, BurstExtent::kEvents);
      }
    } else if (plan_.events[i].choice.ebs_method == EbsMethod::kIpPlusOne) {
      correction_.AppendTo(&statistics.counters);
    } else if (plan_.events[i].ibs_kind != IbsKind::kNone) {
      ibs_[i].AppendTo(&statistics.counters);
    } else if (statistics.counters.empty()) {
      continue;  // perhaps an event that only observes, which is of no source
    }
    sink->OnTraceStatistics(i, statistics);
  }
}

// An inherited event has the id of the one that it was inherited from.
PerfBackend::Identity* PerfBackend::FindIdentity(uint64_t id) {
  const auto found = identities_.find(id);
  return found != identities_.end() ? &found->second : nullptr;
}

uint32_t PerfBackend::FindSource(uint64_t id) {
  const Identity* identity = FindIdentity(id);
  return identity != nullptr ? static_cast<uint32_t>(identity->planned) : 0;
}

bool PerfBackend::Takes(int cpu, Identity* identity, const SampleHead& sample,
                        std::span<const uint8_t>) {
  if (IsDuplicate(cpu, *identity, sample)) return false;
  sampling_ns_ += plan_.events[identity->planned].sample_ns;
  return true;
}

// All events of one kind that a thread has on a CPU count the same, so only the samples of the
// first one are delivered.
bool PerfBackend::IsDuplicate(int cpu, const Identity& identity, const SampleHead& sample) {
  if (!may_see_twice_) return false;
  const std::tuple key(sample.tid, cpu, identity.planned, identity.generation);
  return deciding_events_.try_emplace(key, sample.id).first->second != sample.id;
}

void PerfBackend::DeliverSample(int cpu, std::span<const uint8_t> record, EventSink* sink) {
  auto head = ParseSampleHead(record, kPlannedSampleType);
  const bool has_common_fields = head || (head = ParseSampleHead(record, kCommonSampleType));
  if (!has_common_fields || static_cast<pid_t>(head->pid) != pid_) return;
  Identity* const identity = FindIdentity(head->id);
  if (identity == nullptr || !Takes(cpu, identity, *head, record)) return;
  if (identity->period != 0) head->period = identity->period;
  const size_t planned = identity->planned;
  if (IsOfGuest(head->misc)) {
    ++plan_.events[planned].guest_samples;
    return;
  }
  if (head->tid == identity->tid) {
    identity->was_sampled = true;
    head->period += std::exchange(identity->discarded_period, 0);
  }
  head->period = totals_[planned].gaps.AddSample(head->id, head->time, head->period);
  totals_[planned].sampled += head->period;
  if (plan_.events[planned].HasStack()) {
    DeliverStack(*head, planned, record, sink);
    return;
  }
  const PlannedEvent& event = plan_.events[planned];
  const bool in_kernel = (head->misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL;
  if (in_kernel && event.drops_kernel) return;
  IpOrigin origin = {head->ip};
  bool is_exact = (head->misc & PERF_RECORD_MISC_EXACT_IP) != 0;
  const bool is_corrected = event.choice.ebs_method == EbsMethod::kIpPlusOne;
  if ((is_corrected || (in_kernel && event.HasUserIp())) &&
      ParseSample(record, event.SampleFormat(), &sample_)) {
    if (in_kernel && !sample_.user_registers.values.empty()) {
      origin.ip = sample_.user_registers.values[0];
      is_exact = false;
    }
    if (is_corrected) origin = correction_.Correct(origin.ip, is_exact, sample_.branches);
  }
  const IpSample sample = {
      RuntimeAddress{origin.ip},      head->pid,      head->tid, head->time, head->period,
      static_cast<uint32_t>(planned), origin.position};
  if (event.ibs_kind != IbsKind::kNone && ParseSample(record, event.SampleFormat(), &sample_)) {
    return ibs_[planned].Deliver(sample, sample_.raw, ByteOrder::kNative, sink);
  }
  sink->OnSample(sample);
}

void PerfBackend::DeliverStack(const SampleHead& head, size_t planned,
                               std::span<const uint8_t> record, EventSink* sink) {
  if (!ParseSample(record, plan_.events[planned].SampleFormat(), &sample_)) return;
  BurstSample burst;
  burst.pid = head.pid;
  burst.tid = head.tid;
  burst.time_ns = head.time;
  burst.source = static_cast<uint32_t>(planned);
  burst.period = head.period;
  bursts_.Visit(sample_.branches, [&](auto branches, uint64_t extent, StackPart part) {
    burst.stack = part;
    burst.extent = static_cast<double>(extent);
    burst.branches = branches;
    sink->OnBurst(burst);
  });
}

// Turns the records of the rings other than samples into events.
class PerfBackend::RingRecords : public RecordVisitor {
 public:
  RingRecords(PerfBackend* backend, EventSink* sink) : backend_(*backend), sink_(*sink) {}

  void OnMmap(const MmapRecord& mmap) override {
    if (IsOwn(mmap.pid)) sink_.OnMapping(MappingOf(mmap));
  }
  void OnComm(const CommRecord& comm) override {
    if (!IsOwn(comm.pid)) return;
    if (comm.is_exec) sink_.OnExec(comm.pid);
    sink_.OnThreadName(comm.pid, comm.tid, comm.name);
  }
  void OnFork(const TaskRecord& fork) override {
    if (IsOwn(fork.pid)) backend_.RecordNewThread(fork.tid, fork.time);
  }
  void OnKsymbol(const KsymbolRecord& symbol) override {
    if (symbol.is_removed || symbol.name.empty()) return;
    const ModuleAddress start{symbol.address};
    sink_.OnKernelFunction({{start, start + symbol.size}, symbol.name});
  }
  void OnLost(const LostRecord& lost) override {
    const uint32_t source = backend_.FindSource(lost.id != 0 ? lost.id : lost.sample_id.id);
    backend_.totals_[source].gaps.AddLost(lost.count);
    sink_.OnLost(source, lost.count);
  }
  void OnThrottle(const ThrottleRecord& throttle) override {
    const uint32_t source = backend_.FindSource(throttle.id);
    SamplingGaps* const gaps = &backend_.totals_[source].gaps;
    if (!throttle.is_throttled) return gaps->EndGap(throttle.id, throttle.time);
    gaps->BeginGap(throttle.id, throttle.time);
    sink_.OnThrottled(source);
  }

 private:
  bool IsOwn(uint32_t pid) const { return static_cast<pid_t>(pid) == backend_.pid_; }

  PerfBackend& backend_;
  EventSink& sink_;
};

void PerfBackend::Deliver(int cpu, std::span<const uint8_t> record, EventSink* sink) {
  // Until the exec, events write no record.
  if (std::exchange(waits_for_exec_, false)) has_executed_ = true;
  if (RecordHeader(record).type == PERF_RECORD_SAMPLE) return DeliverSample(cpu, record, sink);
  RingRecords records(this, sink);
  (void)VisitRecord(record, kRecordFormat, &records);
}

void PerfBackend::RecordNewThread(uint32_t tid, uint64_t) {
  has_new_threads_ = sees_new_threads_ = true;
  DropDecidingEvents(tid);
}

void PerfBackend::DropDecidingEvents(uint32_t tid) {
  deciding_events_.erase(deciding_events_.lower_bound({tid, INT_MIN, 0, 0}),
                         deciding_events_.lower_bound({tid + 1, INT_MIN, 0, 0}));
}

Status PerfBackend::AttachNewThreads() {
  has_new_threads_ = false;
  HBBP_ASSIGN_OR_RETURN(std::vector<pid_t> threads, ListThreadsAmong(only_threads_, target_));
  const auto ended = [&threads](pid_t tid) {
    return !std::binary_search(threads.begin(), threads.end(), tid);
  };
  // The ring of an ended thread is drained once more before it is closed.
  std::erase_if(rings_, [&](const Ring& ring) {
    return std::any_of(events_.begin(), events_.end(),
                       [&](const Event& event) { return event.tid == ring.tid && event.ended; });
  });
  for (Event& event : events_) {
    if (!event.ended) continue;
    EndCounting(&event);
    identities_.erase(event.id);
  }
  if (std::erase_if(events_, [](const Event& event) { return event.ended; }) != 0) RestartGaps();
  for (Event& event : events_) event.ended = ended(event.tid);
  std::erase_if(attached_, ended);
  for (pid_t tid : threads) {
    if (tid == excluded_ || !attached_.insert(tid).second) continue;
    HBBP_RETURN_IF_ERROR(AttachThread(tid));
  }
  return OkStatus();
}

// Events have ended, and their ids do not come again.
void PerfBackend::RestartGaps() {
  for (Totals& totals : totals_) totals.gaps.Restart();
}

// The moment of a draw does not depend on the period.
uint64_t PerfBackend::DiscardedPeriod(const PlannedEvent& planned, const Identity&) const {
  return planned.random_period / 2;
}

// The kernel begins a drawn period at once, and discards what it has counted of the one before. A
// thread that had no sample since its last draw may not have run, so that its period stays.
void PerfBackend::RedrawPeriods() {
  for (const Event& event : events_) {
    const uint64_t mean = plan_.events[event.planned].random_period;
    if (mean == 0) continue;
    Identity* const identity = FindIdentity(event.id);
    const bool is_first = !std::exchange(identity->has_drawn, true);
    if (!is_first && !std::exchange(identity->was_sampled, false)) continue;
    uint64_t period = RoundedPeriod(plan_.events[event.planned], draw_.Next(mean));
    if (::ioctl(event.fd.get(), PERF_EVENT_IOC_PERIOD, &period) != 0 || is_first) continue;
    identity->discarded_period += DiscardedPeriod(plan_.events[event.planned], *identity);
  }
}

void PerfBackend::ScaleAll(double factor) {
  for (PlannedEvent& planned : plan_.events) ScalePeriods(factor, period_mode_, &planned);
}

// Opens all events again. The kernel would change the period of an inherited event only in the
// thread that it was opened for, and a clock would report the old period with its samples.
Status PerfBackend::SetPeriodFactor(double factor, EventSink* sink) {
  Drain(sink);
  if (waits_for_exec_) {
    // Events that were disabled here would be enabled by the exec as well.
    factor_after_exec_ = factor;
    return OkStatus();
  }
  std::erase_if(identities_,
                [this](const auto& known) { return known.second.generation != generation_; });
  std::erase_if(deciding_events_,
                [this](const auto& known) { return std::get<3>(known.first) != generation_; });
  RestartGaps();
  ScaleAll(factor);
  Status status = per_thread_ ? ReopenThreads(sink) : ReopenProcess(sink);
  if (status.ok()) {
    factor_ = factor;
  } else {
    ScaleAll(factor_);
  }
  ChooseDrainIntervals();
  RedrawPeriods();
  return status;
}

// With one event per thread, each thread has a ring of its own, which ends with its event.
Status PerfBackend::ReopenThreads(EventSink* sink) {
  Disable();
  Drain(sink);
  rings_.clear();
  RetireEvents(std::move(events_));
  events_.clear();
  attached_.clear();
  ++generation_;
  return AttachProcess();
}

// Opens the new events before it closes the old ones, so that no mapping is missed in between.
Status PerfBackend::ReopenProcess(EventSink* sink) {
  std::vector<Event> old = std::move(events_);
  std::set<pid_t> old_attached = std::move(attached_);
  events_.clear();
  attached_.clear();
  ++generation_;
  for (PlannedEvent& planned : plan_.events) {
    for (PlannedEvent::Variant& variant : planned.variants) variant.attr.disabled = 1;
  }
  Status status = AttachProcess();
  for (PlannedEvent& planned : plan_.events) {
    for (PlannedEvent::Variant& variant : planned.variants) variant.attr.disabled = 0;
  }
  if (!status.ok()) {
    RetireEvents(std::move(events_));
    events_ = std::move(old);
    attached_ = std::move(old_attached);
    --generation_;
    return status;
  }
  for (const Event& event : events_) ::ioctl(event.fd.get(), PERF_EVENT_IOC_ENABLE, 0);
  DisableAll(&old);
  RetireEvents(std::move(old));
  Drain(sink);
  return status;
}

// Keeps events that a ring was mapped from, and closes the others.
void PerfBackend::RetireEvents(std::vector<Event> events) {
  for (Event& event : events) {
    const bool has_ring = std::any_of(rings_.begin(), rings_.end(),
                                      [&](const Ring& ring) { return ring.fd == event.fd.get(); });
    if (has_ring) {
      retired_.push_back(std::move(event));
    } else if (!IsPerfEvent(event.fd.get())) {
      (void)event.fd.Release();
    }
  }
}

void PerfBackend::DisableAll(std::vector<Event>* events) {
  for (Event& event : *events) {
    ::ioctl(event.fd.get(), PERF_EVENT_IOC_DISABLE, 0);
    EndCounting(&event);
  }
}

void PerfBackend::EndCounting(Event* event) {
  if (!std::exchange(event->is_counted, true)) {
    AddCounts(*event, &totals_[event->planned].ended);
  }
}

// Adds what an event has counted, in threads that inherited it too. Where threads may have an event
// of their own and an inherited one, some of it would be there twice.
void PerfBackend::AddCounts(const Event& event, Counts* counts) const {
  const int fd = event.fd.get();
  const bool is_known = !may_see_twice_ && CountsWhatItSamples(plan_.events[event.planned]);
  if (!is_known || !IsPerfEvent(fd)) return;
  struct {
    uint64_t value, enabled_ns, running_ns;
  } count;
  if (::read(fd, &count, sizeof(count)) != sizeof(count)) return;
  // A clock stands still while its sampling is held back, but runs on in this sense. An event of
  // one CPU is enabled while its thread runs on the others.
  const bool is_clock = UnitOf(plan_.events[event.planned].choice.event) == Unit::kNanoseconds;
  counts->occurrences += is_clock ? count.running_ns : count.value;
  counts->enabled_ns += count.enabled_ns / (event.cpu < 0 ? 1 : cpus_.size());
  counts->running_ns += count.running_ns;
}

void PerfBackend::Disable() {
  DisableAll(&events_);
  if (observer_ != nullptr) observer_->Disable();
}

void PerfBackend::Close() {
  rings_.clear();
  for (std::vector<Event>* events : {&events_, &retired_}) {
    for (Event& event : *events) {
      if (!IsPerfEvent(event.fd.get())) (void)event.fd.Release();
    }
    events->clear();
  }
  if (observer_ != nullptr) observer_->Close();
  observer_.reset();
  attached_.clear();
  identities_.clear();
  has_new_threads_ = false;
  may_see_twice_ = false;
  deciding_events_.clear();
}

void PerfBackend::ResetInChild() {
  for (Ring& ring : rings_) ring.buffer.Abandon();
  if (observer_ != nullptr) observer_->ResetInChild();
  Close();
}

// Returns what one CPU may write of samples in a millisecond.
double PerfBackend::BytesPerMs() const {
  constexpr int kSampleBytes = 72;
  constexpr int kStackBytes = 32 * BranchStack::kEntryBytes;
  constexpr int kIbsBytes = 88;
  double bytes_per_ms = 0;
  for (const PlannedEvent& planned : plan_.events) {
    const bool has_stack = planned.HasStack() || planned.choice.ebs_method == EbsMethod::kIpPlusOne;
    bytes_per_ms +=
        SamplesPerMs(planned.choice) * (kSampleBytes + (has_stack ? kStackBytes : 0) +
                                        (planned.ibs_kind != IbsKind::kNone ? kIbsBytes : 0));
  }
  return bytes_per_ms;
}

double PerfBackend::SamplesPerMs(const SourceChoice& choice) const {
  constexpr double kFastestEventsPerMs = 2e7;  // of instructions and cycles on one CPU
  constexpr double kFastestBranchesPerMs = 5e6;
  if (choice.period == 0) return static_cast<double>(choice.frequency_hz) / 1000 / factor_;
  const Unit unit = UnitOf(choice.event);
  const double events_per_ms = unit == Unit::kNanoseconds     ? 1e6
                               : unit == Unit::kTakenBranches ? kFastestBranchesPerMs
                                                              : kFastestEventsPerMs;
  return events_per_ms / static_cast<double>(choice.period) / factor_;
}

// A ring of which a quarter holds the samples of the longest interval, if it may be so large.
size_t PerfBackend::DefaultRingBytes() const {
  const auto bytes = static_cast<int64_t>(4 * kLongestIntervalMs * BytesPerMs());
  const int64_t limited = std::clamp(bytes, kMinDefaultRingBytes, kMaxDefaultRingBytes);
  return std::bit_ceil(static_cast<size_t>(limited));
}

// Chooses an interval in which at most a quarter of a ring fills up, and few samples have the same
// random period; while the program uses little CPU time, the first is enough. Code that is sampled
// is copied when the ring is drained, and may be gone if that is late.
void PerfBackend::ChooseDrainIntervals() {
  double max_interval_ms = std::min(100 * factor_, 1000.0);
  drain_interval_ms_ = longest_interval_ms_ = static_cast<int>(max_interval_ms);
  constexpr double kSamplesByDraw = 20;
  if (kind_ == SourceKind::kNone) return;
  for (const PlannedEvent& planned : plan_.events) {
    const bool wakes = planned.variants.front().attr.watermark == 0;
    if (planned.random_period != 0 && !wakes) {
      max_interval_ms = std::min(max_interval_ms, kSamplesByDraw / SamplesPerMs(planned.choice));
    }
  }
  const double interval_ms = std::max(1.0, static_cast<double>(ring_bytes_) / 4 / BytesPerMs());
  drain_interval_ms_ = static_cast<int>(std::min(interval_ms, max_interval_ms));
  longest_interval_ms_ =
      std::max(drain_interval_ms_, static_cast<int>(std::min(interval_ms, kLongestIntervalMs)));
}

}  // namespace hbbp
