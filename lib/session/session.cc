#include "session/session.h"

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/files.h"
#include "session/session_registry.h"

namespace hbbp {
namespace {

constexpr int kDrainIntervalMs = 100;
constexpr size_t kWorkerStackBytes = 256 * 1024;
constexpr uint64_t kCheckpointIntervalNs = 1'000'000'000;
// Checkpoints take at most one part in so many of the time.
constexpr uint64_t kCheckpointCostDivisor = 1000;

uint64_t ClockNs(clockid_t clock) {
  timespec now;
  ::clock_gettime(clock, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

std::string CommandLine() {
  StatusOr<std::string> arguments = ReadTextFile("/proc/self/cmdline", 1 << 20);
  if (!arguments.ok()) return "";
  std::string command = *std::move(arguments);
  while (command.ends_with('\0')) command.pop_back();
  std::replace(command.begin(), command.end(), '\0', ' ');
  return command;
}

std::string KernelName() {
  utsname name;
  if (::uname(&name) != 0) return "";
  return std::string(name.sysname) + " " + name.release + " " + name.machine;
}

}  // namespace

Session::Session(std::unique_ptr<Backend> backend, SourceKind kind, const BackendConfig& config)
    : kind_(kind), config_(config), backend_(std::move(backend)) {
  SessionRegistry::Get().Add(this);
}

Session::~Session() {
  (void)Stop();
  SessionRegistry::Get().Remove(this);
}

Status Session::Start() {
  HBBP_RETURN_IF_ERROR(StartInBackground());
  std::unique_lock data(data_);
  attached_or_failed_.wait(data, [this] { return attach_ended_; });
  const Status status = attach_status_;
  data.unlock();
  if (!status.ok()) (void)Stop();
  return status;
}

Status Session::StartInBackground() {
  std::lock_guard control(control_);
  if (has_worker_) return MakeStatus(StatusCode::kInvalidState, "the session is already running");
  return StartWorker();
}

Status Session::StartStatus() {
  std::lock_guard data(data_);
  return attach_status_;
}

Status Session::Stop() {
  std::lock_guard control(control_);
  if (!has_worker_) return MakeStatus(StatusCode::kInvalidState, "the session is not running");
  StopWorker();
  std::lock_guard data(data_);
  if (!running_) return OkStatus();
  backend_->Disable();
  DrainLocked();
  backend_->Close();
  recorder_.Settle(UINT64_MAX);
  finished_runs_ns_ += ClockNs(CLOCK_MONOTONIC) - run_start_ns_;
  running_ = false;
  return OkStatus();
}

ProfileData Session::Snapshot() {
  std::lock_guard data(data_);
  return SnapshotLocked();
}

ProfileData Session::SnapshotLocked() {
  if (running_) DrainLocked();
  ProfileData snapshot = recorder_.Snapshot();
  snapshot.pid = static_cast<uint32_t>(::getpid());
  snapshot.start_time_ns = first_start_realtime_ns_;
  snapshot.duration_ns =
      finished_runs_ns_ + (running_ ? ClockNs(CLOCK_MONOTONIC) - run_start_ns_ : 0);
  snapshot.command = CommandLine();
  snapshot.host = KernelName();
  return snapshot;
}

SessionInfo Session::Info() {
  std::lock_guard data(data_);
  if (running_) DrainLocked();
  SessionInfo info;
  info.running = running_;
  info.samples = recorder_.samples();
  if (ever_started_) {
    info.lost = recorder_.source(source_).lost;
    info.throttled = recorder_.source(source_).throttled;
  }
  info.duration_ns = finished_runs_ns_ + (running_ ? ClockNs(CLOCK_MONOTONIC) - run_start_ns_ : 0);
  return info;
}

void Session::DrainLocked() {
  const uint64_t complete_ns = ClockNs(CLOCK_MONOTONIC);
  for (pid_t worker : SessionRegistry::Get().Workers()) {
    recorder_.IgnoreThread(static_cast<uint32_t>(worker));
  }
  backend_->Drain(&recorder_);
  recorder_.Settle(complete_ns);
}

Status Session::StartWorker() {
  wake_fd_ = UniqueFd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake_fd_.valid()) return ErrnoStatus(errno, "eventfd");
  worker_should_end_ = false;
  {
    std::lock_guard data(data_);
    attach_ended_ = false;
    attach_status_ = OkStatus();
  }
  // No signal of the host may be delivered to a thread that it does not know of.
  sigset_t all, previous;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &previous);
  pthread_attr_t attributes;
  ::pthread_attr_init(&attributes);
  ::pthread_attr_setstacksize(&attributes, kWorkerStackBytes);
  const int error_number = ::pthread_create(&worker_, &attributes, &WorkerMain, this);
  ::pthread_attr_destroy(&attributes);
  ::pthread_sigmask(SIG_SETMASK, &previous, nullptr);
  if (error_number != 0) {
    wake_fd_.Reset();
    return ErrnoStatus(error_number, "pthread_create for the worker");
  }
  has_worker_ = true;
  return OkStatus();
}

void Session::StopWorker() {
  worker_should_end_ = true;
  uint64_t one = 1;
  (void)!::write(wake_fd_.get(), &one, sizeof(one));
  ::pthread_join(worker_, nullptr);
  wake_fd_.Reset();
  has_worker_ = false;
}

void* Session::WorkerMain(void* session) {
  static_cast<Session*>(session)->RunWorker();
  return nullptr;
}

void Session::RunWorker() {
  ::prctl(PR_SET_NAME, "hbbp-worker");
  SessionRegistry::Get().AddWorker(::gettid());
  {
    std::lock_guard data(data_);
    attach_status_ = Attach();
    attach_ended_ = true;
    attached_or_failed_.notify_all();
    if (!attach_status_.ok()) return;
  }
  uint64_t checkpoint_due_ns = ClockNs(CLOCK_MONOTONIC) + kCheckpointIntervalNs;
  std::vector<pollfd> fds;
  std::set<int> ended;
  while (!worker_should_end_) {
    WaitForWork(&fds, &ended);
    if (worker_should_end_) break;
    {
      std::lock_guard data(data_);
      DrainLocked();
    }
    CheckpointIfDue(&checkpoint_due_ns);
  }
}

// Events must not follow the worker itself, so it opens them.
Status Session::Attach() {
  BackendChoice choice;
  const uint64_t begin_ns = ClockNs(CLOCK_MONOTONIC);
  HBBP_RETURN_IF_ERROR(backend_->Start(config_, ::gettid(), &choice));
  SourceRecord source;
  source.kind = kind_;
  source.event = choice.event;
  source.period_mode = config_.period_mode;
  source.include_kernel = config_.include_kernel;
  source.period = choice.period;
  source.frequency_hz = config_.frequency_hz;
  source.note = choice.note;
  source_ = recorder_.AddSource(std::move(source));
  // The events already tell of what is mapped from now on.
  recorder_.AddCurrentMappings(begin_ns);
  run_start_ns_ = ClockNs(CLOCK_MONOTONIC);
  if (!ever_started_) first_start_realtime_ns_ = ClockNs(CLOCK_REALTIME);
  ever_started_ = true;
  running_ = true;
  return OkStatus();
}

// `ended` collects the descriptors of threads that are gone, which are ready for ever. What a new
// thread writes into the ring of an ended one is collected by time alone.
void Session::WaitForWork(std::vector<pollfd>* fds, std::set<int>* ended) {
  fds->assign(1, {wake_fd_.get(), POLLIN, 0});
  {
    std::lock_guard data(data_);
    for (const pollfd& fd : backend_->PollFds()) {
      if (!ended->contains(fd.fd)) fds->push_back(fd);
    }
  }
  ::poll(fds->data(), fds->size(), kDrainIntervalMs);
  for (const pollfd& fd : *fds) {
    if ((fd.revents & (POLLHUP | POLLERR)) != 0) ended->insert(fd.fd);
  }
}

void Session::CheckpointIfDue(uint64_t* due_ns) {
  const uint64_t begin_ns = ClockNs(CLOCK_MONOTONIC);
  if (!checkpoint_ || begin_ns < *due_ns) return;
  checkpoint_(Snapshot());
  const uint64_t end_ns = ClockNs(CLOCK_MONOTONIC);
  *due_ns = end_ns + std::max(kCheckpointIntervalNs, (end_ns - begin_ns) * kCheckpointCostDivisor);
}

void Session::ForgetInChild() {
  backend_->ForgetInChild();
  recorder_.Clear();
  wake_fd_.Reset();
  has_worker_ = false;
  running_ = false;
  ever_started_ = false;
  finished_runs_ns_ = 0;
}

}  // namespace hbbp
