// Prepare, which Start of PerfBackend calls, decides what is drawn. Drain finds the births of
// threads first (FindBirths), as samples of a thread may come before in the ring of another CPU.
// Then it attaches to threads that were born (AttachBornThreads), and opens, draws and closes the
// events of first periods (DrawFirstPeriods); Takes sorts out the samples of both.
#include "backends/drawn_periods_backend.h"

#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <time.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <optional>
#include <utility>

#include "backends/perf_backend_choice.h"
#include "backends/threads.h"
#include "base/clock.h"
#include "perf/perf_event.h"
#include "perf/records.h"

namespace hbbp {
namespace {

// Shorter periods begin often enough.
constexpr uint64_t kMinDividedNs = 250'000;
constexpr uint64_t kNoBirthsNs = 500'000'000;
constexpr uint64_t kMaxFirstNs = 2'000'000'000;
constexpr int kMinFirstDrawMs = 20;
constexpr uint64_t kPeriodsOfFirstDraw = 4;

// A sample that wakes the worker takes two system calls of it and an interrupt of the thread.
constexpr double kMaxWakeupsPerMs = 8;
constexpr RecordFormat kRecordFormat = {.sample_type = kPlannedSampleType};
constexpr uint64_t kAttachIntervalNs = 20'000'000;
// Of an interrupt of a clock, in virtual machines.
constexpr uint64_t kMaxDelayNs = 30'000;

// Returns how many samples of instructions, cycles or a clock a CPU has at most.
double MaxSamplesPerMs(const SourceChoice& choice) {
  constexpr double kFastestEventsPerMs = 2e7;
  if (choice.period == 0) return static_cast<double>(choice.frequency_hz) / 1000;
  const bool is_clock = UnitOf(choice.event) == Unit::kNanoseconds;
  return (is_clock ? 1e6 : kFastestEventsPerMs) / static_cast<double>(choice.period);
}

// Returns the period of a clock, or 0 if the first ones of threads are not divided.
uint64_t DividedPeriodNs(const SourceChoice& choice) {
  constexpr uint64_t kSecondNs = 1'000'000'000;
  if (UnitOf(choice.event) != Unit::kNanoseconds) return 0;
  const uint64_t period =
      choice.frequency_hz != 0 ? kSecondNs / choice.frequency_hz : choice.period;
  return period < kMinDividedNs ? 0 : period;
}

class ScopedFalse {
 public:
  explicit ScopedFalse(bool* value) : value_(*value) { value_ = false; }
  ~ScopedFalse() { value_ = true; }
  ScopedFalse(const ScopedFalse&) = delete;
  ScopedFalse& operator=(const ScopedFalse&) = delete;

 private:
  bool& value_;
};

}  // namespace

std::unique_ptr<Backend> MakePerfBackend(SourceKind kind) {
  return std::make_unique<DrawnPeriodsBackend>(kind);
}

void DrawnPeriodsBackend::Prepare(const BackendConfig& config) {
  first_periods_.Clear();
  births_.clear();
  attached_ns_.clear();
  last_birth_ns_ = first_period_ns_ = 0;
  const bool may_divide = kind_ == SourceKind::kEbs && plan_.events.size() == 1 && !per_thread_ &&
                          only_threads_.empty() && config.max_overhead == 0;
  if (may_divide) first_period_ns_ = DividedPeriodNs(plan_.events.front().choice);

  has_random_periods_ = wakes_at_samples_ = false;
  // A host that drains by itself waits for no samples.
  const bool has_worker = config.drain_request != nullptr;
  for (PlannedEvent& planned : plan_.events) {
    if (planned.random_period == 0) continue;
    has_random_periods_ = true;
    if (!has_worker || MaxSamplesPerMs(planned.choice) > kMaxWakeupsPerMs) continue;
    wakes_at_samples_ = true;
    for (PlannedEvent::Variant& variant : planned.variants) {
      variant.attr.watermark = 0;
      variant.attr.wakeup_events = 1;
    }
  }
}

Status DrawnPeriodsBackend::Start(const BackendConfig& config, pid_t excluded,
                                  BackendChoice* choice) {
  HBBP_RETURN_IF_ERROR(PerfBackend::Start(config, excluded, choice));
  is_enabled_ = true;
  start_ns_ = ClockNs(CLOCK_MONOTONIC);
  OpenFirstEvents();
  return OkStatus();
}

void DrawnPeriodsBackend::Drain(EventSink* sink) {
  if (first_period_ns_ != 0) FindBirths();
  PerfBackend::Drain(sink);
  births_.clear();
  if (!is_enabled_) return;
  if (has_random_periods_ && has_new_threads_ && !per_thread_ && only_threads_.empty()) {
    // A thread that cannot be attached to keeps the period that it inherited.
    (void)AttachBornThreads();
  }
  DrawFirstPeriods();
}

void DrawnPeriodsBackend::Disable() {
  is_enabled_ = false;
  for (const Event& event : first_events_) ::ioctl(event.fd.get(), PERF_EVENT_IOC_DISABLE, 0);
  PerfBackend::Disable();
}

void DrawnPeriodsBackend::Close() {
  is_enabled_ = false;
  CloseFirstEvents();
  PerfBackend::Close();
}

Status DrawnPeriodsBackend::SetPeriodFactor(double factor, EventSink* sink) {
  first_period_ns_ = 0;
  CloseFirstEvents();
  attached_ns_.clear();
  return PerfBackend::SetPeriodFactor(factor, sink);
}

SampleWait* DrawnPeriodsBackend::sample_wait() {
  if (!wakes_at_samples_ || !is_enabled_) return nullptr;
  std::vector<int> descriptors;
  for (const Ring& ring : rings_) {
    if (IsPerfEvent(ring.fd)) descriptors.push_back(ring.fd);
  }
  wait_.SetDescriptors(descriptors);
  return &wait_;
}

bool DrawnPeriodsBackend::Takes(int cpu, Identity* identity, const SampleHead& sample,
                                std::span<const uint8_t> record) {
  sampling_ns_ += plan_.events[identity->planned].sample_ns;
  if (identity->is_of_first_period) return TakesFirst(cpu, *identity, sample, record);
  if (IsDuplicate(cpu, *identity, sample)) return false;
  if (sample.tid == identity->tid) {
    identity->interval_ns = sample.time - std::exchange(identity->sampled_ns, sample.time);
  }
  if (first_period_ns_ == 0) return true;
  const auto tid = static_cast<pid_t>(sample.tid);
  return first_periods_.TakesRegular(tid, cpu, draw_.Between(0, 1) == 0);
}

// A clock of user code drops what it finds in the kernel, so that what comes may be its second
// sample; Linux 6.12 and later say. The period is the one that the thread has inherited.
bool DrawnPeriodsBackend::TakesFirst(int cpu, const Identity& identity, const SampleHead& sample,
                                     std::span<const uint8_t> record) {
  if (identity.knows_value) {
    constexpr size_t kValueAt = sizeof(perf_event_header) + 5 * sizeof(uint64_t);
    uint64_t value;
    if (record.size() < kValueAt + sizeof(value)) return false;
    std::memcpy(&value, record.data() + kValueAt, sizeof(value));
    if (value >= sample.period + std::max(sample.period / 2, kMaxDelayNs)) return false;
  }
  return first_periods_.TakesFirst(static_cast<pid_t>(sample.tid), cpu);
}

// It was counted since the last sample. The thread has not run all the time if that is more than a
// period; then it is half of one in the mean.
uint64_t DrawnPeriodsBackend::DiscardedPeriod(const PlannedEvent& planned,
                                              const Identity& identity) const {
  const auto mean = static_cast<double>(planned.random_period);
  auto events = static_cast<double>(ClockNs(CLOCK_MONOTONIC) - identity.sampled_ns);
  if (UnitOf(planned.choice.event) != Unit::kNanoseconds) {
    events *= mean / static_cast<double>(std::max<uint64_t>(identity.interval_ns, 1));
  }
  return static_cast<uint64_t>(events < mean ? events : mean / 2);
}

void DrawnPeriodsBackend::FindBirths() {
  for (Ring& ring : rings_) {
    ring.buffer.Peek([this](std::span<const uint8_t> record) {
      if (RecordHeader(record).type != PERF_RECORD_FORK) return;
      const std::optional<TaskRecord> fork = ParseTask(record, kRecordFormat);
      if (!fork || static_cast<pid_t>(fork->pid) != pid_) return;
      first_periods_.AddThread(static_cast<pid_t>(fork->tid));
      births_.emplace(fork->tid, fork->time);
    });
  }
}

// A thread may have got its own events before the record of its birth was read.
void DrawnPeriodsBackend::RecordNewThread(uint32_t new_tid, uint64_t birth_ns) {
  const auto tid = static_cast<pid_t>(new_tid);
  last_birth_ns_ = ClockNs(CLOCK_MONOTONIC);
  if (!births_.contains({tid, birth_ns})) first_periods_.AddThread(tid);
  const auto attached = attached_ns_.find(tid);
  if (attached != attached_ns_.end() && attached->second > birth_ns) return;
  if (attached != attached_ns_.end()) {
    attached_ns_.erase(attached);
    attached_.erase(tid);
  }
  PerfBackend::RecordNewThread(new_tid, birth_ns);
}

void DrawnPeriodsBackend::OpenFirstEvents() {
  CloseFirstEvents();
  if (first_period_ns_ == 0) return;
  perf_event_attr attr = plan_.events.front().variants.front().attr;
  if (waits_for_exec_) attr.disabled = attr.enable_on_exec = 1;
  attr.freq = 0;
  attr.sample_period = FirstPeriods::Draw(first_period_ns_, &draw_);
  attr.mmap = attr.mmap2 = attr.comm = attr.task = attr.build_id = attr.ksymbol = 0;
  attr.watermark = 1;
  attr.wakeup_watermark = UINT32_MAX;
  for (const Ring& ring : rings_) {
    attr.sample_type |= PERF_SAMPLE_READ;
    UniqueFd fd(RawPerfEventOpen(attr, pid_, ring.cpu));
    const bool knows_value = fd.valid();
    if (!knows_value) {
      attr.sample_type &= ~uint64_t{PERF_SAMPLE_READ};
      fd = UniqueFd(RawPerfEventOpen(attr, pid_, ring.cpu));
    }
    uint64_t id = 0;
    const bool is_open = fd.valid() && ::ioctl(fd.get(), PERF_EVENT_IOC_SET_OUTPUT, ring.fd) == 0 &&
                         ::ioctl(fd.get(), PERF_EVENT_IOC_ID, &id) == 0;
    if (!is_open) continue;
    Identity& identity = identities_[id];
    identity.generation = generation_;
    identity.period = first_period_ns_;
    identity.tid = static_cast<uint32_t>(pid_);
    identity.is_of_first_period = true;
    identity.knows_value = knows_value;
    first_events_.push_back({pid_, ring.cpu, 0, id, std::move(fd)});
  }
}

void DrawnPeriodsBackend::CloseFirstEvents() {
  for (Event& event : first_events_) {
    identities_.erase(event.id);
    if (!IsPerfEvent(event.fd.get())) (void)event.fd.Release();
  }
  first_events_.clear();
}

bool DrawnPeriodsBackend::HasBirths() const {
  return last_birth_ns_ != 0 && ClockNs(CLOCK_MONOTONIC) - last_birth_ns_ < kNoBirthsNs;
}

int DrawnPeriodsBackend::DrainIntervalMs() const {
  const int interval_ms = PerfBackend::DrainIntervalMs();
  return first_period_ns_ != 0 && HasBirths() ? std::min(interval_ms, kMinFirstDrawMs)
                                              : interval_ms;
}

int DrawnPeriodsBackend::LongestIntervalMs() const {
  return HasBirths() ? DrainIntervalMs() : PerfBackend::LongestIntervalMs();
}

// As long as threads are born, another moment is drawn now and then, for those that are born from
// then on. Events whose samples say what they have counted stay with their thread (Linux 6.12).
// Others do not: where threads have inherited all of their events, the kernel exchanges these at a
// switch, so that the event may have ended with any thread. Then new events are opened, and threads
// that had no sample of the old ones lose them.
void DrawnPeriodsBackend::DrawFirstPeriods() {
  if (first_period_ns_ == 0) return;
  const uint64_t now_ns = ClockNs(CLOCK_MONOTONIC);
  if (waits_for_exec_) start_ns_ = now_ns;
  if (!HasBirths()) {
    // They cost the threads that last. The first thread may only wait for others.
    const bool is_over = first_periods_.HasSample(pid_) || now_ns - start_ns_ > kMaxFirstNs;
    if (is_over) CloseFirstEvents();
    return;
  }
  if (now_ns < next_first_draw_ns_) return;
  next_first_draw_ns_ = now_ns + std::max<uint64_t>(kMinFirstDrawMs * 1'000'000,
                                                    kPeriodsOfFirstDraw * first_period_ns_);
  uint64_t period = FirstPeriods::Draw(first_period_ns_, &draw_);
  const bool is_drawn =
      !first_events_.empty() &&
      std::all_of(first_events_.begin(), first_events_.end(), [&](const Event& event) {
        return identities_[event.id].knows_value &&
               ::ioctl(event.fd.get(), PERF_EVENT_IOC_PERIOD, &period) == 0;
      });
  if (!is_drawn) OpenFirstEvents();
}

Status DrawnPeriodsBackend::AttachBornThreads() {
  const uint64_t now_ns = ClockNs(CLOCK_MONOTONIC);
  if (now_ns < next_attach_ns_) return OkStatus();
  next_attach_ns_ = now_ns + kAttachIntervalNs;
  has_new_threads_ = false;
  HBBP_ASSIGN_OR_RETURN(const std::vector<pid_t> threads, ListThreads(target_));
  std::vector<pid_t> ended;
  std::set_difference(attached_.begin(), attached_.end(), threads.begin(), threads.end(),
                      std::back_inserter(ended));
  CloseEventsOf(ended);
  const ScopedFalse own(&inherits_);
  Status status;
  for (const pid_t tid : threads) {
    const bool has_descriptors =
        events_.size() + cpus_.size() * plan_.events.size() <= DescriptorBudget();
    if (!status.ok() || !has_descriptors) break;
    if (tid == excluded_ || !attached_.insert(tid).second) continue;
    const size_t first = events_.size();
    status = AttachThread(tid);
    for (size_t i = first; i < events_.size(); ++i) {
      const Event& event = events_[i];
      deciding_events_[{static_cast<uint32_t>(tid), event.cpu, event.planned, generation_}] =
          event.id;
      // The inherited event was within a period.
      identities_[event.id].discarded_period = plan_.events[event.planned].random_period / 2;
      may_see_twice_ = true;
    }
    attached_ns_[tid] = now_ns;
  }
  RedrawPeriods();
  return status;
}

// Samples of threads that ended since the last drain are lost. Events that threads have inherited
// stay with these.
void DrawnPeriodsBackend::CloseEventsOf(const std::vector<pid_t>& threads) {
  for (const pid_t tid : threads) {
    attached_.erase(tid);
    attached_ns_.erase(tid);
    DropDecidingEvents(static_cast<uint32_t>(tid));
  }
  std::vector<Event> ended;
  for (Event& event : events_) {
    const bool has_ended = std::binary_search(threads.begin(), threads.end(), event.tid);
    if (!has_ended || event.is_inherited) continue;
    EndCounting(&event);
    identities_.erase(event.id);
    ended.push_back(std::move(event));
  }
  if (ended.empty()) return;
  std::erase_if(events_, [](const Event& event) { return !event.fd.valid(); });
  RetireEvents(std::move(ended));
  RestartGaps();
}

}  // namespace hbbp
