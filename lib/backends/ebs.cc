#include "backends/ebs.h"

#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "backends/threads.h"
#include "perf/perf_event.h"
#include "perf/records.h"
#include "perf/sample_record.h"

namespace hbbp {
namespace {

constexpr uint64_t kSampleType =
    PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID | PERF_SAMPLE_PERIOD;
constexpr RecordFormat kRecordFormat = {.sample_type = kSampleType};

constexpr size_t kDefaultRingBytes = 256 * 1024;
constexpr size_t kPerThreadRingBytes = 32 * 1024;

// Defaults that keep the overhead below 1 % (docs/results.md has the measurements).
constexpr uint64_t kDefaultClockPeriodNs = 10'000'000;
constexpr uint64_t kDefaultHardwarePeriod = 20'000'000;

// The kernel stretches shorter periods of clocks to 10 us, and reports what was asked for.
constexpr uint64_t kShortestClockPeriodNs = 10'007;

uint64_t DefaultPeriod(EventKind event) {
  return UnitOf(event) == Unit::kNanoseconds ? kDefaultClockPeriodNs : kDefaultHardwarePeriod;
}

perf_event_attr AttrOf(EventKind event) {
  switch (event) {
    case EventKind::kCpuClock:
      return MakePerfEventAttr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK);
    case EventKind::kInstructions:
      return MakePerfEventAttr(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS);
    case EventKind::kCycles:
      return MakePerfEventAttr(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES);
    default:
      return MakePerfEventAttr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK);
  }
}

// More descriptors than this for one session would crowd out the host's own.
uint64_t DescriptorBudget() {
  rlimit limit;
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 256;
  return std::max<uint64_t>(64, std::min<uint64_t>(limit.rlim_cur / 4, 8192));
}

}  // namespace

EbsBackend::EbsBackend() : attr_(MakePerfEventAttr(0, 0)) {}
EbsBackend::~EbsBackend() = default;

Status EbsBackend::Start(const BackendConfig& config, pid_t excluded, BackendChoice* choice) {
  pid_ = ::getpid();
  excluded_ = excluded;
  HBBP_RETURN_IF_ERROR(ChooseEvent(config, choice));
  HBBP_ASSIGN_OR_RETURN(cpus_, ListOnlineCpus());
  HBBP_ASSIGN_OR_RETURN(std::vector<pid_t> threads, ListThreads());
  per_thread_ = force_per_thread_ || threads.size() * cpus_.size() > DescriptorBudget();
  ring_bytes_ = config.buffer_bytes != 0 ? config.buffer_bytes : kDefaultRingBytes;
  if (per_thread_) {
    ring_bytes_ = std::min(ring_bytes_, kPerThreadRingBytes);
    attr_.inherit = 0;
    attr_.inherit_thread = 0;
    choice->note += choice->note.empty() ? "" : "; ";
    choice->note +=
        "one event per thread, because threads times CPUs exceed the descriptors; the "
        "first 100 ms of a new thread may be missed";
  }
  // Nobody waits for the ring: it is drained by time.
  attr_.wakeup_watermark = UINT32_MAX;
  drain_interval_ms_ = ChooseDrainInterval(*choice);
  Status status = AttachProcess();
  if (status.ok()) {
    RedrawPeriods();
  } else {
    Close();
  }
  return status;
}

Status EbsBackend::ChooseEvent(const BackendConfig& config, BackendChoice* choice) {
  std::vector<EventKind> candidates = {config.event};
  if (config.event == EventKind::kAuto) {
    candidates = {EventKind::kInstructions, EventKind::kTaskClock};
  }
  Status status;
  for (EventKind event : candidates) {
    attr_ =
        observes_only_ ? MakePerfEventAttr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY) : AttrOf(event);
    attr_.sample_type = kSampleType;
    attr_.exclude_kernel = config.include_kernel ? 0 : 1;
    attr_.exclude_hv = 1;
    attr_.inherit = 1;
    attr_.mmap = 1;
    attr_.mmap2 = 1;
    attr_.comm = 1;
    attr_.task = 1;
    attr_.sample_id_all = 1;
    attr_.watermark = 1;
    attr_.use_clockid = 1;
    attr_.clockid = CLOCK_MONOTONIC;
    choice->event = event;
    choice->period = 0;
    random_period_ = 0;
    if (observes_only_) {
      attr_.sample_period = 0;
    } else if (config.frequency_hz != 0) {
      attr_.freq = 1;
      attr_.sample_freq = config.frequency_hz;
    } else {
      choice->period = config.period != 0 ? config.period : DefaultPeriod(event);
      if (config.period_mode == PeriodMode::kPrime) {
        choice->period = LargestPrimeUpTo(choice->period);
      }
      if (UnitOf(event) == Unit::kNanoseconds) {
        choice->period = std::max(choice->period, kShortestClockPeriodNs);
      }
      attr_.sample_period = choice->period;
      if (config.period_mode == PeriodMode::kRandom) {
        timespec now;
        ::clock_gettime(CLOCK_MONOTONIC, &now);
        draw_ = PeriodDraw(static_cast<uint64_t>(now.tv_nsec) << 20 ^ static_cast<uint64_t>(pid_));
        // The clocks go on reporting the period that they were opened with, which must then be
        // the mean.
        random_period_ = choice->period;
      }
    }
    const std::string previous_failure = status.message();
    status = ProbeAttr(EventName(event));
    if (status.ok()) {
      if (!previous_failure.empty()) {
        choice->note =
            std::string(EventName(event)) + " instead of instructions: " + previous_failure;
      }
      return status;
    }
  }
  return status;
}

// Finds the options that this kernel and PMU accept, best first.
Status EbsBackend::ProbeAttr(const std::string& event_name) {
  event_name_ = event_name;
  const bool hardware = attr_.type == PERF_TYPE_HARDWARE;
  int error_number = 0;
  for (int precise_ip = hardware ? 3 : 0; precise_ip >= 0; --precise_ip) {
    for (bool modern_kernel : {true, false}) {
      attr_.precise_ip = static_cast<unsigned>(precise_ip) & 3;
      attr_.build_id = modern_kernel;
      attr_.inherit_thread = modern_kernel;
      int fd = RawPerfEventOpen(attr_, 0, -1);
      if (fd >= 0) {
        ::close(fd);
        return OkStatus();
      }
      error_number = errno;
    }
  }
  return PerfEventOpenStatus(error_number, event_name);
}

// A thread that starts meanwhile inherits all events of its parent, some of them or none, according
// to how far its parent had got, and nothing tells which. So it gets events of its own, and
// IsDuplicate sorts the samples out.
Status EbsBackend::AttachProcess() {
  constexpr int kMaxRounds = 20;
  for (int round = 0; round < kMaxRounds; ++round) {
    HBBP_ASSIGN_OR_RETURN(std::vector<pid_t> threads, ListThreads());
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

Status EbsBackend::AttachThread(pid_t tid) {
  if (per_thread_) return AttachThreadOnCpu(tid, -1);
  for (int cpu : cpus_) HBBP_RETURN_IF_ERROR(AttachThreadOnCpu(tid, cpu));
  return OkStatus();
}

Status EbsBackend::AttachThreadOnCpu(pid_t tid, int cpu) {
  UniqueFd fd(RawPerfEventOpen(attr_, tid, cpu));
  if (!fd.valid()) {
    const bool thread_ended = errno == ESRCH;
    const bool cpu_went_offline = errno == ENODEV && cpu >= 0;
    if (thread_ended || cpu_went_offline) return OkStatus();
    return PerfEventOpenStatus(errno, event_name_);
  }
  auto shared = std::find_if(rings_.begin(), rings_.end(),
                             [cpu](const Ring& ring) { return cpu >= 0 && ring.cpu == cpu; });
  if (shared != rings_.end()) {
    if (::ioctl(fd.get(), PERF_EVENT_IOC_SET_OUTPUT, shared->fd) != 0) {
      return ErrnoStatus(errno, "PERF_EVENT_IOC_SET_OUTPUT");
    }
  } else {
    HBBP_ASSIGN_OR_RETURN(RingBuffer buffer, RingBuffer::Map(fd.get(), ring_bytes_));
    rings_.push_back({cpu, tid, fd.get(), std::move(buffer)});
  }
  events_.push_back({tid, cpu, std::move(fd)});
  return OkStatus();
}

void EbsBackend::Drain(SampleSink* sink) {
  for (Ring& ring : rings_) {
    ring.buffer.Consume([&](std::span<const uint8_t> record) { Deliver(ring.cpu, record, sink); });
  }
  if (per_thread_ && has_new_threads_) {
    // A thread that cannot be attached to is missed, as the session's note says it may be.
    (void)AttachNewThreads();
  }
  RedrawPeriods();
}

// All events that a thread has on a CPU count the same, so the samples of one are enough.
bool EbsBackend::IsDuplicate(int cpu, const SampleHead& sample) {
  if (!may_see_twice_) return false;
  return deciding_events_.try_emplace({sample.tid, cpu}, sample.id).first->second != sample.id;
}

void EbsBackend::Deliver(int cpu, std::span<const uint8_t> record, SampleSink* sink) {
  switch (HeaderOf(record).type) {
    case PERF_RECORD_SAMPLE:
      if (auto sample = ParseSampleHead(record, kSampleType)) {
        if (static_cast<pid_t>(sample->pid) != pid_ || IsDuplicate(cpu, *sample)) return;
        const bool in_kernel =
            (sample->misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL;
        sink->OnSample({RuntimeAddress{sample->ip}, sample->pid, sample->tid, sample->time,
                        sample->period, in_kernel});
      }
      break;
    case PERF_RECORD_MMAP2:
      if (auto map = ParseMmap(record, kRecordFormat)) {
        if (static_cast<pid_t>(map->pid) != pid_) return;
        MappingEvent event;
        event.start = RuntimeAddress{map->address};
        event.end = RuntimeAddress{map->address + map->size};
        event.offset = FileOffset{map->file_offset};
        event.device = map->device;
        event.inode = map->inode;
        event.build_id = std::move(map->build_id);
        event.path = std::move(map->path);
        event.time_ns = map->sample_id.time;
        sink->OnMapping(std::move(event));
      }
      break;
    case PERF_RECORD_COMM:
      if (auto comm = ParseComm(record, kRecordFormat)) {
        if (static_cast<pid_t>(comm->pid) != pid_) return;
        sink->OnThreadName(comm->pid, comm->tid, comm->name);
      }
      break;
    case PERF_RECORD_FORK:
      if (auto fork = ParseTask(record, kRecordFormat)) {
        if (static_cast<pid_t>(fork->pid) != pid_) return;
        has_new_threads_ = sees_new_threads_ = true;
        // Its number may have been that of an older thread.
        deciding_events_.erase(deciding_events_.lower_bound({fork->tid, 0}),
                               deciding_events_.lower_bound({fork->tid + 1, 0}));
      }
      break;
    case PERF_RECORD_LOST:
    case PERF_RECORD_LOST_SAMPLES:
      if (auto lost = ParseLost(record, kRecordFormat)) sink->OnLost(lost->count);
      break;
    case PERF_RECORD_THROTTLE:
      sink->OnThrottled();
      break;
    default:
      break;
  }
}

Status EbsBackend::AttachNewThreads() {
  has_new_threads_ = false;
  HBBP_ASSIGN_OR_RETURN(std::vector<pid_t> threads, ListThreads());
  const auto ended = [&threads](pid_t tid) {
    return !std::binary_search(threads.begin(), threads.end(), tid);
  };
  // What an ended thread left in its ring is delivered by one more Drain before it is closed.
  std::erase_if(rings_, [&](const Ring& ring) {
    return std::any_of(events_.begin(), events_.end(),
                       [&](const Event& event) { return event.tid == ring.tid && event.ended; });
  });
  std::erase_if(events_, [](const Event& event) { return event.ended; });
  for (Event& event : events_) event.ended = ended(event.tid);
  std::erase_if(attached_, ended);
  for (pid_t tid : threads) {
    if (tid == excluded_ || !attached_.insert(tid).second) continue;
    HBBP_RETURN_IF_ERROR(AttachThread(tid));
  }
  return OkStatus();
}

void EbsBackend::RedrawPeriods() {
  if (random_period_ == 0) return;
  for (const Event& event : events_) {
    uint64_t period = draw_.Next(random_period_);
    ::ioctl(event.fd.get(), PERF_EVENT_IOC_PERIOD, &period);
  }
}

void EbsBackend::Disable() {
  for (const Event& event : events_) ::ioctl(event.fd.get(), PERF_EVENT_IOC_DISABLE, 0);
}

void EbsBackend::Close() {
  rings_.clear();
  for (Event& event : events_) {
    if (!IsPerfEvent(event.fd.get())) (void)event.fd.Release();
  }
  events_.clear();
  attached_.clear();
  has_new_threads_ = false;
  may_see_twice_ = false;
  deciding_events_.clear();
}

void EbsBackend::ForgetInChild() {
  for (Ring& ring : rings_) ring.buffer.Forget();
  Close();
}

// A quarter of a ring must not fill up in between.
int EbsBackend::ChooseDrainInterval(const BackendChoice& choice) const {
  constexpr double kMaxIntervalMs = 100;
  constexpr double kRecordBytes = 56;
  constexpr double kFastestEventsPerMs = 2e7;  // of instructions and cycles on one CPU
  const double events_per_ms =
      UnitOf(choice.event) == Unit::kNanoseconds ? 1e6 : kFastestEventsPerMs;
  if (observes_only_) return static_cast<int>(kMaxIntervalMs);
  const double samples_per_ms = choice.period == 0
                                    ? static_cast<double>(attr_.sample_freq) / 1000
                                    : events_per_ms / static_cast<double>(choice.period);
  const double interval_ms = static_cast<double>(ring_bytes_) / 4 / (samples_per_ms * kRecordBytes);
  return static_cast<int>(std::clamp(interval_ms, 1.0, kMaxIntervalMs));
}

}  // namespace hbbp
