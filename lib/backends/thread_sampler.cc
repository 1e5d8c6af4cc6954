#include "backends/thread_sampler.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/clock.h"
#include "perf/perf_event.h"
#include "trace/signal_data.h"

namespace hbbp {
namespace {

// Returns the clock of the CPU time that a thread was scheduled for, encoded as in the kernel.
clockid_t CpuClockOf(pid_t tid) {
  constexpr clockid_t kOfThread = 4, kScheduled = 2;
  return static_cast<clockid_t>(static_cast<unsigned>(~tid) << 3) | kOfThread | kScheduled;
}

timespec TimespecOf(uint64_t ns) {
  return {static_cast<time_t>(ns / 1'000'000'000), static_cast<long>(ns % 1'000'000'000)};
}

void SetTimer(int timer, uint64_t period_ns, uint64_t first_ns) {
  const itimerspec setting = {TimespecOf(period_ns), TimespecOf(first_ns)};
  ::syscall(SYS_timer_settime, timer, 0, &setting, nullptr);
}

// The program may have closed it, and have another file there.
void CloseEvent(UniqueFd* event) {
  if (event->valid() && !IsPerfEvent(event->get())) (void)event->Release();
  event->Reset();
}

Status SendSignalTo(pid_t tid, int signal, int fd) {
  f_owner_ex owner = {F_OWNER_TID, tid};
  if (::fcntl(fd, F_SETOWN_EX, &owner) != 0 || ::fcntl(fd, F_SETSIG, signal) != 0 ||
      ::fcntl(fd, F_SETFL, O_ASYNC) != 0) {
    if (errno == ESRCH) return MakeStatus(StatusCode::kNotFound, "thread %d has ended", tid);
    return ErrnoStatus(errno, "F_SETSIG");
  }
  return OkStatus();
}

}  // namespace

perf_event_attr MakeSigtrapAttr(uint32_t type, uint64_t config, uint64_t period) {
  perf_event_attr attr = MakePerfEventAttr(type, config);
  attr.sample_period = period;
  attr.exclude_kernel = 1;
  attr.exclude_hv = 1;
  attr.sigtrap = 1;
  attr.remove_on_exec = 1;
  attr.inherit = 1;
  attr.inherit_thread = 1;
  return attr;
}

uint64_t CpuNsOf(pid_t tid) { return ClockNs(CpuClockOf(tid)); }

StatusOr<ThreadSampler> ThreadSampler::OpenEvent(perf_event_attr attr, pid_t tid,
                                                 uint64_t signal_data, int signal) {
  if (attr.sigtrap) attr.sig_data = signal_data;
  ThreadSampler sampler;
  sampler.event_ = UniqueFd(RawPerfEventOpen(attr, tid, -1));
  sampler.is_inherited_ = attr.inherit != 0;
  sampler.signal_data_ = signal_data;
  if (sampler.event_.valid()) {
    if (!attr.sigtrap) HBBP_RETURN_IF_ERROR(SendSignalTo(tid, signal, sampler.event_.get()));
    return sampler;
  }
  if (errno == ESRCH) return MakeStatus(StatusCode::kNotFound, "thread %d has ended", tid);
  return PerfEventOpenStatus(errno, "sampling with sigtrap");
}

void ThreadSampler::DivideFirstPeriods(perf_event_attr attr, uint64_t period, pid_t tid) {
  EndFirstPeriods();
  attr.sample_period = period;
  attr.sig_data = trace::AsFirstSample(signal_data_);
  first_event_ = UniqueFd(RawPerfEventOpen(attr, tid, -1));
}

void ThreadSampler::EndFirstPeriods() { CloseEvent(&first_event_); }

StatusOr<ThreadSampler> ThreadSampler::OpenTimer(uint64_t period_ns, uint64_t first_ns, pid_t tid,
                                                 uint64_t signal_data) {
  sigevent event;
  std::memset(&event, 0, sizeof(event));
  event.sigev_notify = SIGEV_THREAD_ID;
  event.sigev_signo = SIGTRAP;
  event.sigev_value.sival_ptr = reinterpret_cast<void*>(signal_data);
  event._sigev_un._tid = tid;
  ThreadSampler sampler;
  if (::syscall(SYS_timer_create, CpuClockOf(tid), &event, &sampler.timer_) != 0) {
    sampler.timer_ = -1;
    if (errno == EINVAL) return MakeStatus(StatusCode::kNotFound, "thread %d has ended", tid);
    return ErrnoStatus(errno, "timer_create");
  }
  SetTimer(sampler.timer_, period_ns, first_ns);
  return sampler;
}

ThreadSampler::ThreadSampler(ThreadSampler&& other) noexcept
    : event_(std::move(other.event_)),
      first_event_(std::move(other.first_event_)),
      timer_(std::exchange(other.timer_, -1)),
      is_inherited_(other.is_inherited_),
      signal_data_(other.signal_data_) {}

ThreadSampler& ThreadSampler::operator=(ThreadSampler&& other) noexcept {
  if (this != &other) {
    Close();
    event_ = std::move(other.event_);
    first_event_ = std::move(other.first_event_);
    timer_ = std::exchange(other.timer_, -1);
    is_inherited_ = other.is_inherited_;
    signal_data_ = other.signal_data_;
  }
  return *this;
}

void ThreadSampler::SetPeriod(uint64_t period) {
  if (event_.valid()) ::ioctl(event_.get(), PERF_EVENT_IOC_PERIOD, &period);
  if (timer_ >= 0) SetTimer(timer_, period, period);
}

void ThreadSampler::Stop() {
  EndFirstPeriods();
  if (event_.valid()) ::ioctl(event_.get(), PERF_EVENT_IOC_DISABLE, 0);
  if (timer_ >= 0) SetTimer(timer_, 0, 0);
}

void ThreadSampler::Close() {
  EndFirstPeriods();
  CloseEvent(&event_);
  if (timer_ >= 0) ::syscall(SYS_timer_delete, std::exchange(timer_, -1));
}

void ThreadSampler::ResetInChild() {
  timer_ = -1;
  Close();
}

}  // namespace hbbp
