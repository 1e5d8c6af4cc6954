// Start has the worker attach the backend, and then starts external sources itself. The worker
// drains both until Stop, a deadline or EndForGood: it sleeps, drains external sources without a
// lock and the backend with data_, commits what the recorder has, keeps the budgets, and flushes
// the log. Where the host drains, there is no worker: Start attaches, and Drain does one round.
// Snapshots and Info drain the backend as well. Every end of a run goes through EndRun.
#include "session/session.h"

#include <linux/futex.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <new>

#include "backends/observing_backend.h"
#include "backends/threads.h"
#include "base/clock.h"
#include "base/files.h"
#include "base/proc_path.h"
#include "collect/generated_names.h"
#include "collect/memory_note.h"
#include "session/cancellable_lock.h"
#include "session/kernel_name.h"
#include "session/worker_thread.h"

namespace hbbp {
namespace {

constexpr uint64_t kSecondNs = 1'000'000'000;

// Waits until the word is no longer `expected`, or for so long, less than a second; may end early.
void WaitForChange(const std::atomic<uint32_t>& word, uint32_t expected, int milliseconds) {
  const timespec timeout = {0, static_cast<long>(milliseconds) * 1'000'000};
  ::syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, expected, &timeout, nullptr, 0);
}

void WakeAllWaiters(const std::atomic<uint32_t>& word) {
  ::syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, INT32_MAX, nullptr, nullptr, 0);
}

// Returns "" for a process that has ended.
std::string CommandLine(pid_t pid) {
  StatusOr<std::string> arguments = ReadTextFile(ProcPath(pid, "cmdline"), 1 << 20);
  if (!arguments.ok()) return "";
  std::string command = *std::move(arguments);
  while (command.ends_with('\0')) command.pop_back();
  std::replace(command.begin(), command.end(), '\0', ' ');
  return command;
}

}  // namespace

Session::Session(std::unique_ptr<Backend> backend, const SessionSettings& settings)
    : settings_(settings),
      has_backend_(backend != nullptr),
      wakeup_(SessionRegistry::Get().TakeWakeup()),
      backend_(has_backend_ ? std::move(backend) : std::make_unique<ObservingBackend>()),
      log_(settings.log),
      memory_(settings.allocator, settings.max_memory),
      recorder_(settings.backend.pid, settings, &memory_),
      budget_({&settings_.backend, backend_.get(), &recorder_, &memory_, &log_},
              settings.max_memory) {
  SessionRegistry::Get().Add(this);
}

Session::~Session() {
  (void)Stop();
  log_.WaitUntilFlushed();
  SessionRegistry::Get().Remove(this);
  SessionRegistry::Get().ReturnWakeup(wakeup_);
}

Status Session::Start() {
  {
    std::unique_lock<std::mutex> control(control_);
    HBBP_RETURN_IF_ERROR(CheckNotInCall());
    WaitUntilSettled(&control);
    if (is_started_) {
      return MakeStatus(StatusCode::kInvalidState, "the session is already running");
    }
    if (!has_backend_ && external_sources_ == nullptr) {
      return MakeStatus(StatusCode::kInvalidState,
                        "the session has only external sources, and no source was added");
    }
    if (settings_.drained_by_host) {
      AttachInCaller();
    } else if (Status status = StartWorker(); !status.ok()) {
      control.unlock();
      log_.Log(LogLevel::kError, "%s", status.message().c_str());
      log_.Flush();
      return status;
    }
    is_starting_ = true;
  }
  Status status = BeginRun();
  {
    std::unique_lock<std::mutex> control(control_);
    is_starting_ = false;
    if (status.ok()) {
      settled_.notify_all();
    } else {
      BeginStop(&control);
    }
  }
  if (!status.ok()) (void)FinishStop();
  log_.Flush();
  return status;
}

Status Session::BeginRun() {
  constexpr int kAnyTimeMs = 900;
  while (attach_ended_ == 0) WaitForChange(attach_ended_, 0, kAnyTimeMs);
  HBBP_RETURN_IF_ERROR(attach_status_);
  return StartExternalSources();
}

Status Session::AddExternalSource(std::string name, std::unique_ptr<ExternalSource> source) {
  std::unique_lock<std::mutex> control(control_);
  HBBP_RETURN_IF_ERROR(CheckNotInCall());
  WaitUntilSettled(&control);
  if (is_started_) {
    return MakeStatus(StatusCode::kInvalidState,
                      "%s: the session is running; add sources before it is started", name.c_str());
  }
  std::lock_guard data(data_);
  if (external_sources_ == nullptr) {
    external_sources_ =
        MakeExternalSources({&data_, &recorder_, &log_, &memory_, settings_.backend.pid});
  }
  external_sources_->Add(std::move(name), std::move(source));
  return OkStatus();
}

Status Session::StartExternalSources() {
  if (external_sources_ == nullptr) return OkStatus();
  Status status = external_sources_->Start();
  if (!status.ok()) log_.Log(LogLevel::kError, "%s", status.message().c_str());
  return status;
}

Status Session::Stop() {
  {
    std::unique_lock<std::mutex> control(control_);
    HBBP_RETURN_IF_ERROR(CheckNotInCall());
    WaitUntilSettled(&control);
    if (!is_started_) return MakeStatus(StatusCode::kInvalidState, "the session is not running");
    BeginStop(&control);
  }
  Status status = FinishStop();
  log_.Flush();
  return status;
}

void Session::BeginStop(std::unique_lock<std::mutex>* control) {
  is_stopping_ = true;
  worker_should_end_ = true;
  drain_ended_.wait(*control, [this] { return !is_in_drain_; });
}

// It has stopped even if there is no memory for the last samples: others may wait for that.
Status Session::FinishStop() {
  struct Stopped {
    ~Stopped() {
      std::lock_guard control(session->control_);
      session->is_started_ = session->is_stopping_ = false;
      session->settled_.notify_all();
    }
    Session* const session;
  } stopped{this};
  if (!settings_.drained_by_host) {
    wakeup_->Post();
    ::pthread_join(worker_, nullptr);
  }
  return EndRun();
}

Status Session::Drain(int* next_ms) {
  if (!settings_.drained_by_host) {
    return MakeStatus(StatusCode::kInvalidState,
                      "the session drains itself, in a thread of its own, unless its options have "
                      "drained_by_host");
  }
  {
    std::unique_lock<std::mutex> control(control_);
    HBBP_RETURN_IF_ERROR(CheckNotInCall());
    drain_ended_.wait(control, [this] { return !is_in_drain_; });
    if (!is_started_ || is_starting_ || is_stopping_) {
      return MakeStatus(StatusCode::kInvalidState, "the session is not running");
    }
    is_in_drain_ = true;
  }
  return DrainAndFlushLog(next_ms);
}

Status Session::DrainAndFlushLog(int* next_ms) {
  struct Turn {
    ~Turn() {
      std::lock_guard control(session->control_);
      session->is_in_drain_ = false;
      session->drain_ended_.notify_all();
    }
    Session* const session;
  } turn{this};
  const uint64_t cost_begin_ns = ClockNs(CLOCK_THREAD_CPUTIME_ID);
  if (external_sources_ != nullptr) external_sources_->Drain();
  Status status;
  {
    std::lock_guard data(data_);
    budget_.AddCallerCost(ClockNs(CLOCK_THREAD_CPUTIME_ID) - cost_begin_ns);
    if (running_) {
      status = DrainAsFarAsMemoryGoes();
      KeepBudgets();
    }
    *next_ms = backend_->DrainIntervalMs();
  }
  log_.Flush();
  return status;
}

// The worker may be what waits for the end of the call, and the call for this.
Status Session::CheckNotInCall() const {
  if (IsInLog()) {
    return MakeStatus(StatusCode::kInvalidState,
                      "the log of a session must neither start nor stop it");
  }
  if (IsInExternalSource()) {
    return MakeStatus(StatusCode::kInvalidState,
                      "an external source of a session must neither start nor stop it");
  }
  return OkStatus();
}

// Waits while another thread starts or stops the session.
void Session::WaitUntilSettled(std::unique_lock<std::mutex>* control) {
  settled_.wait(*control, [this] { return !is_starting_ && !is_stopping_; });
}

// External sources are called without a lock: they feed, which takes data_.
Status Session::EndRun() {
  Status status;
  if (external_sources_ != nullptr) status = external_sources_->Stop();
  std::lock_guard data(data_);
  if (running_) EndRunLocked();
  return status;
}

void Session::EndRunLocked() {
  backend_->Disable();
  (void)DrainAsFarAsMemoryGoes();  // whose failure is in the log
  budget_.EndRun();
  backend_->Close();
  recorder_.Commit(UINT64_MAX);
  budget_.LogDropped();
  const uint64_t run_ns = ClockNs(CLOCK_MONOTONIC) - run_start_ns_;
  finished_runs_ns_ += run_ns;
  running_ = false;
  budget_.ReleaseBuffers();
  log_.Log(LogLevel::kInfo, "stopped after %.3f s with %llu samples",
           static_cast<double>(run_ns) / 1e9, static_cast<unsigned long long>(recorder_.samples()));
}

// Progress is reported without the lock: what is called there may fork, which takes it.
ProfileData Session::Snapshot(const Work& work) {
  constexpr uint64_t kBegun = 1, kCounted = 9, kAll = 10;
  ReportOrThrow(work, kBegun, kAll);
  CancelCheck check(work.cancel);
  CancelCheck* const asked = work.cancel != nullptr ? &check : nullptr;
  std::unique_lock<std::mutex> data(data_, std::defer_lock);
  LockUnlessCancelled(work.cancel, &data);
  ProfileData snapshot = SnapshotLocked(asked);
  const pid_t pid = settings_.backend.pid;
  const JitFiles jit_files = {PathOfPerfMap(pid), recorder_.locator().jit_dumps()};
  data.unlock();
  log_.Flush();
  ReportOrThrow(work, kCounted, kAll);
  const Status named = NameGeneratedCode(pid, jit_files, &snapshot, asked);
  if (!named.ok() && !snapshot.sources.empty()) {
    AppendNote(named.message(), &snapshot.sources.front().note);
  }
  ReportOrThrow(work, kAll, kAll);
  return snapshot;
}

// Must not be called in the child before fork has returned: the host's allocator may have locks
// that another thread held, which handlers of its own release.
void Session::ClearAfterFork() {
  if (!has_counts_of_parent_) return;
  recorder_.Clear();
  has_counts_of_parent_ = false;
}

ProfileData Session::SnapshotLocked(CancelCheck* check) {
  ClearAfterFork();
  if (running_) DrainLocked();
  if (external_sources_ != nullptr) external_sources_->ReportStatistics();
  ProfileData snapshot = recorder_.Snapshot(check);
  if (external_sources_ != nullptr) external_sources_->Complete(snapshot.sources);
  AppendNotes(&snapshot);
  const pid_t pid = settings_.backend.pid;
  snapshot.pid = static_cast<uint32_t>(pid != 0 ? pid : ::getpid());
  snapshot.start_time_ns = first_start_realtime_ns_;
  snapshot.duration_ns =
      finished_runs_ns_ + (running_ ? ClockNs(CLOCK_MONOTONIC) - run_start_ns_ : 0);
  snapshot.command = pid != 0 ? command_of_other_ : CommandLine(0);
  snapshot.host = KernelName();
  return snapshot;
}

void Session::AppendNotes(ProfileData* snapshot) const {
  const std::string periods = budget_.PeriodNote();
  for (const uint32_t source : sources_) AppendNote(periods, &snapshot->sources[source].note);
  std::string note = MemoryNote(recorder_.dropped(), recorder_.aggregator().has_widened_slices());
  if (const char* const end_note = end_note_) AppendNote(end_note, &note);
  for (const uint32_t source : AllSources()) AppendNote(note, &snapshot->sources[source].note);
}

SessionInfo Session::Info() {
  SessionInfo info;
  {
    std::lock_guard data(data_);
    info = InfoLocked();
  }
  log_.Flush();
  return info;
}

SessionInfo Session::InfoLocked() {
  ClearAfterFork();
  if (running_) DrainLocked();
  SessionInfo info;
  info.running = running_;
  info.samples = recorder_.samples();
  for (const uint32_t source : AllSources()) {
    info.lost += recorder_.source(source).lost;
    info.throttled += recorder_.source(source).throttled;
  }
  info.duration_ns = finished_runs_ns_ + (running_ ? ClockNs(CLOCK_MONOTONIC) - run_start_ns_ : 0);
  info.dropped = recorder_.dropped().samples;
  if (external_sources_ != nullptr) external_sources_->AddTo(&info);
  budget_.AddTo(&info);
  return info;
}

std::vector<uint32_t> Session::AllSources() const {
  std::vector<uint32_t> sources = sources_;
  if (external_sources_ == nullptr) return sources;
  const std::vector<uint32_t> external = external_sources_->numbers();
  sources.insert(sources.end(), external.begin(), external.end());
  return sources;
}

Status Session::AddCode(RuntimeAddress address, std::span<const uint8_t> bytes,
                        const std::string& name, uint64_t time_ns) {
  std::lock_guard data(data_);
  ClearAfterFork();
  if (recorder_.locator().AddCode(address, bytes, name, time_ns)) return OkStatus();
  return MakeStatus(StatusCode::kBusy,
                    "the session has no room for more generated code: its samples are counted, but "
                    "it is not kept");
}

Status Session::AddData(DataEvent data) {
  std::lock_guard lock(data_);
  ClearAfterFork();
  data.pid = static_cast<uint32_t>(pid() != 0 ? pid() : ::getpid());
  DataKeeper* const keeper = recorder_.aggregator().data_keeper();
  if (keeper == nullptr) return OkStatus();
  if (!running_ || !HasIbsSource()) keeper->EndRound(ClockNs(CLOCK_MONOTONIC));
  if (keeper->AddBlock(data)) return OkStatus();
  return MakeStatus(StatusCode::kBusy,
                    "the session has no room for more blocks of data: this one is not kept");
}

// Without one there are no ops that wait for Commit.
bool Session::HasIbsSource() const {
  const std::span<const SourceRecord> sources = recorder_.aggregator().sources();
  return std::any_of(sources.begin(), sources.end(),
                     [](const SourceRecord& source) { return source.kind == SourceKind::kIbs; });
}

void Session::DrainLocked() {
  const uint64_t cost_begin_ns = ClockNs(CLOCK_THREAD_CPUTIME_ID);
  const uint64_t complete_ns = ClockNs(CLOCK_MONOTONIC);
  for (pid_t worker : SessionRegistry::Get().Workers()) {
    recorder_.IgnoreThread(static_cast<uint32_t>(worker));
  }
  RenumberedSources numbered(sources_, &recorder_);
  backend_->Drain(&numbered);
  recorder_.Commit(complete_ns);
  ReadCommandOfOther();
  LogLosses();
  if (::gettid() != worker_tid_) {
    budget_.AddCallerCost(ClockNs(CLOCK_THREAD_CPUTIME_ID) - cost_begin_ns);
  }
}

Status Session::DrainAsFarAsMemoryGoes() {
  try {
    DrainLocked();
  } catch (const std::bad_alloc&) {
    log_.Log(LogLevel::kError, "no memory to empty the buffers; samples are missing");
    return Status(StatusCode::kNoMemory, "out of memory");  // so short that it needs none
  }
  return OkStatus();
}

// Logs losses and throttling that go on each time that there are more than twice as many.
void Session::LogLosses() {
  uint64_t lost = 0, throttled = 0;
  for (const uint32_t source : sources_) {
    lost += recorder_.source(source).lost;
    throttled += recorder_.source(source).throttled;
  }
  if (lost > 2 * logged_lost_) {
    log_.Log(LogLevel::kWarning,
             "%llu samples were lost, because the buffers were full: longer periods or more "
             "buffer_bytes help",
             static_cast<unsigned long long>(lost));
    logged_lost_ = lost;
  }
  if (throttled > 2 * logged_throttled_) {
    log_.Log(LogLevel::kWarning,
             "the kernel held sampling back %llu times: periods are too short for it",
             static_cast<unsigned long long>(throttled));
    logged_throttled_ = throttled;
  }
}

void Session::LogChoice() {
  for (const uint32_t index : sources_) {
    const SourceRecord& source = recorder_.source(index);
    const char* event =
        source.event_name.empty() ? EventName(source.event) : source.event_name.c_str();
    if (source.period != 0) {
      log_.Log(LogLevel::kInfo, "%s samples %s each %llu", backend_->name(), event,
               static_cast<unsigned long long>(source.period));
    } else {
      log_.Log(LogLevel::kInfo, "%s samples %s %llu times a second", backend_->name(), event,
               static_cast<unsigned long long>(source.frequency_hz));
    }
    if (!source.note.empty()) log_.Log(LogLevel::kWarning, "%s", source.note.c_str());
  }
}

// The process may exec, most likely soon after the session has started, and is gone when it has
// ended.
void Session::ReadCommandOfOther() {
  if (settings_.backend.pid == 0) return;
  const uint64_t now_ns = ClockNs(CLOCK_MONOTONIC);
  if (now_ns < next_command_ns_) return;
  next_command_ns_ = now_ns + std::min(now_ns - run_start_ns_, kSecondNs);
  std::string command = CommandLine(settings_.backend.pid);
  if (!command.empty()) command_of_other_ = std::move(command);
}

Status Session::StartWorker() {
  worker_should_end_ = false;
  attach_ended_ = 0;
  attach_status_ = OkStatus();
  worker_is_alive_ = true;
  const StatusOr<pthread_t> worker = StartWorkerThread(&WorkerMain, this);
  if (!worker.ok()) {
    worker_is_alive_ = false;
    return worker.status();
  }
  worker_ = *worker;
  is_started_ = true;
  return OkStatus();
}

void Session::AttachInCaller() {
  constexpr pid_t kNoThread = 0;
  std::lock_guard data(data_);
  attach_status_ = AttachAndLog(kNoThread);
  attach_ended_ = 1;
  is_started_ = true;
}

bool Session::CheckpointNow(int timeout_ms) {
  // It is noticed after at most this time that the worker ended.
  constexpr int kLongestWaitMs = 10;
  const uint32_t ticket = checkpoints_asked_.fetch_add(1) + 1;
  const uint64_t deadline_ns =
      ClockNs(CLOCK_MONOTONIC) + static_cast<uint64_t>(timeout_ms) * 1'000'000;
  wakeup_->Post();
  for (;;) {
    const uint32_t done = checkpoints_done_;
    if (static_cast<int32_t>(done - ticket) >= 0) return true;
    if (!worker_is_alive_ || ClockNs(CLOCK_MONOTONIC) >= deadline_ns) return false;
    WaitForChange(checkpoints_done_, done, std::min(timeout_ms, kLongestWaitMs));
  }
}

bool Session::EndForGood(const char* note, int timeout_ms) {
  {
    std::unique_lock<std::mutex> control(control_);
    WaitUntilSettled(&control);
    if (!is_started_) return false;
    is_stopping_ = true;
    end_note_ = note;
  }
  wakeup_->Post();
  const timespec deadline = DeadlineIn(timeout_ms);
  const bool has_ended = ::pthread_clockjoin_np(worker_, nullptr, CLOCK_MONOTONIC, &deadline) == 0;
  if (!has_ended) ::pthread_detach(worker_);
  std::lock_guard control(control_);
  is_started_ = is_stopping_ = false;
  settled_.notify_all();
  return has_ended;
}

void* Session::WorkerMain(void* session) {
  static_cast<Session*>(session)->RunWorker();
  return nullptr;
}

void Session::RunWorker() {
  ::prctl(PR_SET_NAME, "hbbp-worker");
  SessionRegistry::Get().AddWorker(::gettid());
  worker_tid_ = ::gettid();
  program_cpu_ns_ = last_drain_cpu_ns_ = 0;
  if (observer() != nullptr) observer()->OnWorkerStarted();
  Status status;
  {
    std::lock_guard data(data_);
    attach_status_ = status = AttachAndLog(worker_tid_);
  }
  if (status.ok() && settings_.has_checkpoint_at_start) TakeCheckpoint(CheckpointKind::kPeriodic);
  log_.Flush();  // before Start() returns
  attach_ended_ = 1;
  WakeAllWaiters(attach_ended_);
  if (status.ok()) DrainWhateverMemoryThereIs();
  worker_is_alive_ = false;
  if (!worker_should_end_) SessionRegistry::Get().EndWorkerOfEndedProgram();
}

void Session::TakeCheckpoint(CheckpointKind kind) {
  if (observer() == nullptr) return;
  try {
    observer()->OnCheckpoint(Snapshot(), kind);
  } catch (const std::bad_alloc&) {
    log_.Log(LogLevel::kError, "no memory for a checkpoint");
    observer()->OnNoMemory();
  }
}

void Session::DrainWhateverMemoryThereIs() {
  for (;;) {
    try {
      return DrainUntilEnd();
    } catch (const std::bad_alloc&) {
      log_.Log(LogLevel::kError, "no memory; samples are missing");
      if (observer() != nullptr) observer()->OnNoMemory();
    }
  }
}

void Session::DrainUntilEnd() {
  CheckpointSchedule checkpoints(ClockNs(CLOCK_MONOTONIC), ProgramCpuNs());
  WorkerPace pace(ClockNs(CLOCK_MONOTONIC), ProgramCpuNs());
  const uint64_t worker_begin_ns = ClockNs(CLOCK_THREAD_CPUTIME_ID);
  uint64_t saved_cpu_ns = 0;  // of the program, at the last checkpoint
  while (!worker_should_end_) {
    const bool has_unsaved = observer() != nullptr && !IsIdleSince(saved_cpu_ns);
    const int longest_ms = MsUntilDue(has_unsaved ? &checkpoints : nullptr);
    const bool has_samples = WaitForSamples(longest_ms, &pace);
    if (end_note_ != nullptr) {
      (void)EndRun();  // whose failure is in the log
      TakeCheckpoint(CheckpointKind::kLast);
      break;
    }
    if (external_sources_ != nullptr) external_sources_->Drain();
    const uint32_t asked = checkpoints_asked_;
    const bool is_requested = asked != checkpoints_done_;
    const bool program_has_ended = SessionRegistry::Get().ProgramHasEnded();
    const uint64_t begin_ns = ClockNs(CLOCK_MONOTONIC);
    const bool must_save = is_requested || program_has_ended;
    const bool is_due = must_save || checkpoints.IsDue(begin_ns, ProgramCpuNs());
    const bool may_save = observer() != nullptr && is_due;
    const bool saves = may_save && (must_save || !IsIdleSince(saved_cpu_ns));
    const bool drains = must_save || has_samples || MayHaveSamples(begin_ns);
    if (drains || saves) {
      std::lock_guard data(data_);
      if (running_) (void)DrainAsFarAsMemoryGoes();
    }
    if (saves) {
      saved_cpu_ns = ProgramCpuNs();
      const uint64_t cost_begin_ns = ClockNs(CLOCK_THREAD_CPUTIME_ID);
      TakeCheckpoint(must_save ? CheckpointKind::kLast : CheckpointKind::kPeriodic);
      checkpoints.Took(ClockNs(CLOCK_THREAD_CPUTIME_ID) - cost_begin_ns, ClockNs(CLOCK_MONOTONIC),
                       ProgramCpuNs());
    } else if (may_save) {
      checkpoints.Took(0, begin_ns, ProgramCpuNs());
    }
    if (drains || saves) {
      std::lock_guard data(data_);
      budget_.SetWorkerCost(ClockNs(CLOCK_THREAD_CPUTIME_ID) - worker_begin_ns);
      if (running_) KeepBudgets();
    }
    log_.Flush();
    if (settings_.deadline_ns != 0 && begin_ns >= settings_.deadline_ns) (void)EndRun();
    if (is_requested) {
      checkpoints_done_ = asked;
      WakeAllWaiters(checkpoints_done_);
    }
    if (program_has_ended) break;
  }
}

// Returns whether there are samples that were waited for, or threads to be attached to.
bool Session::WaitForSamples(int longest_ms, WorkerPace* pace) {
  constexpr int kBetweenReportsMs = 20;
  SampleWait* wait = nullptr;
  int wait_ms = 0, longest_of_backend_ms = 0;
  {
    std::lock_guard data(data_);
    if (running_) wait = backend_->sample_wait();
    wait_ms = longest_of_backend_ms = backend_->DrainIntervalMs();
    if (wait == nullptr && HasSamplesByCpuTime())
      longest_of_backend_ms = backend_->LongestIntervalMs();
  }
  if (longest_of_backend_ms > wait_ms) {
    wait_ms =
        pace->NextMs(wait_ms, longest_of_backend_ms, ClockNs(CLOCK_MONOTONIC), ProgramCpuNs());
  }
  wait_ms = std::min(wait_ms, longest_ms);
  if (wait != nullptr) return wait->Wait(DeadlineIn(wait_ms), wakeup_);
  // A program that starts many threads must not have a drain for each.
  if (std::exchange(had_report_, false)) {
    wakeup_->WaitUntil(DeadlineIn(std::min(wait_ms, kBetweenReportsMs)));
    return true;
  }
  wakeup_->ExpectReport();
  wakeup_->WaitUntil(DeadlineIn(wait_ms));
  return had_report_ = wakeup_->TakeReport();
}

void Session::KeepBudgets() {
  RenumberedSources numbered(sources_, &recorder_);
  budget_.Keep(&numbered);
}

// Returns the time until the deadline, or until a checkpoint if one is wanted.
int Session::MsUntilDue(const CheckpointSchedule* checkpoints) {
  constexpr uint64_t kEndOfThreadNs = 20'000'000;
  const uint64_t now_ns = ClockNs(CLOCK_MONOTONIC);
  uint64_t ns = SessionRegistry::Get().ProgramEndsNow() ? kEndOfThreadNs : UINT64_MAX;
  if (checkpoints != nullptr) ns = std::min(ns, checkpoints->NsUntilDue(now_ns, ProgramCpuNs()));
  if (now_ns < settings_.deadline_ns) ns = std::min(ns, settings_.deadline_ns - now_ns);
  return static_cast<int>(std::min<uint64_t>(ns / 1'000'000 + 1, INT_MAX));
}

// It never goes back, though the worker runs on between the two clocks.
uint64_t Session::ProgramCpuNs() {
  const uint64_t process_ns = ClockNs(CLOCK_PROCESS_CPUTIME_ID);
  const uint64_t worker_ns = ClockNs(CLOCK_THREAD_CPUTIME_ID);
  program_cpu_ns_ = std::max(program_cpu_ns_, process_ns - std::min(process_ns, worker_ns));
  return program_cpu_ns_;
}

bool Session::HasSamplesByCpuTime() const {
  return external_sources_ == nullptr && backend_->SamplesNeedCpuTime();
}

// A process that has used hardly any CPU time has hardly any samples, and these can wait.
bool Session::IsIdleSince(uint64_t program_cpu_ns) {
  constexpr uint64_t kFewNs = 1'000'000;
  return HasSamplesByCpuTime() && ProgramCpuNs() - program_cpu_ns < kFewNs;
}

// A program that has used no CPU time has made no system call either, so that there is nothing to
// find out; but a thread may have blocked in a handler right after the clocks were read.
bool Session::MayHaveSamples(uint64_t now_ns) {
  constexpr uint64_t kMinCpuNs = 5'000;
  constexpr uint64_t kLongestNs = 5 * kSecondNs;
  const uint64_t used_ns = ProgramCpuNs() - last_drain_cpu_ns_;
  const uint64_t waited_ns = now_ns - last_drain_ns_;
  const bool did_nothing = HasSamplesByCpuTime() && used_ns < kMinCpuNs;
  if (did_nothing && waited_ns < kLongestNs) return false;
  if (IsIdleSince(last_drain_cpu_ns_) && waited_ns < kSecondNs) return false;
  last_drain_ns_ = now_ns;
  last_drain_cpu_ns_ = program_cpu_ns_;
  return true;
}

Status Session::AttachAndLog(pid_t excluded) {
  Status status;
  try {
    status = Attach(excluded);
  } catch (const std::bad_alloc&) {
    backend_->Close();
    status = Status(StatusCode::kNoMemory, "out of memory");  // so short that it needs none
  }
  if (!status.ok()) log_.Log(LogLevel::kError, "%s", status.message().c_str());
  return status;
}

// Events must not follow the worker itself, which is `excluded`, so it opens them.
Status Session::Attach(pid_t excluded) {
  ClearAfterFork();
  BackendChoice choice;
  const uint64_t begin_ns = ClockNs(CLOCK_MONOTONIC);
  BackendConfig config = settings_.backend;
  if (!settings_.drained_by_host) config.drain_request = wakeup_;
  config.own_threads = [] { return SessionRegistry::Get().Workers(); };
  HBBP_RETURN_IF_ERROR(backend_->Start(config, excluded, &choice));
  std::vector<SourceRecord> sources;
  for (SourceChoice& chosen : choice.sources) {
    SourceRecord source;
    source.kind = chosen.kind;
    source.event = chosen.event;
    source.event_name = std::move(chosen.event_name);
    source.period_mode = chosen.period_mode.value_or(settings_.backend.period_mode);
    source.include_kernel = settings_.backend.include_kernel;
    source.period = chosen.period;
    source.frequency_hz = chosen.frequency_hz;
    source.note = std::move(chosen.note);
    source.precise_ip = chosen.precise_ip;
    source.ebs_method = chosen.ebs_method;
    source.burst_extent = chosen.burst_extent;
    sources.push_back(std::move(source));
  }
  sources_ = recorder_.AddSources(std::move(sources));
  // The events already report what is mapped from now on. What a process has mapped before it
  // executes the program is not the program's.
  const bool waits_for_exec = config.enable_on_exec && !ever_started_;
  if (!waits_for_exec) {
    if (Status status = recorder_.locator().AddCurrentMappings(begin_ns); !status.ok()) {
      backend_->Disable();
      backend_->Close();
      return status;
    }
  }
  if (const auto threads = ListThreads(settings_.backend.pid); threads.ok()) {
    for (const pid_t thread : *threads) recorder_.RecordThread(static_cast<uint32_t>(thread));
  }
  run_start_ns_ = ClockNs(CLOCK_MONOTONIC);
  next_command_ns_ = 0;
  recorder_.aggregator().BeginSlices(run_start_ns_);
  if (!ever_started_) {
    first_start_realtime_ns_ = settings_.realtime_offset_ns != 0
                                   ? run_start_ns_ + settings_.realtime_offset_ns
                                   : ClockNs(CLOCK_REALTIME);
  }
  ever_started_ = true;
  running_ = true;
  logged_lost_ = logged_throttled_ = 0;
  budget_.BeginRun();
  LogChoice();
  return OkStatus();
}

void Session::LockForFork() {
  control_.lock();
  data_.lock();
  log_.LockForFork();
}

void Session::UnlockAfterFork() {
  log_.UnlockAfterFork();
  data_.unlock();
  control_.unlock();
}

void Session::ResetInChild() {
  backend_->ResetInChild();
  if (external_sources_ != nullptr) external_sources_->ResetInChild();
  has_counts_of_parent_ = true;
  wakeup_->Reset();
  // Destroying it would wait for the threads that wait for it, which are not here.
  new (&settled_) std::condition_variable();
  new (&drain_ended_) std::condition_variable();
  is_in_drain_ = false;
  is_started_ = is_starting_ = is_stopping_ = false;
  worker_should_end_ = true;  // the worker itself may have forked, in the log
  worker_is_alive_ = false;
  checkpoints_done_ = checkpoints_asked_.load();
  running_ = false;
  ever_started_ = false;
  sources_.clear();
  finished_runs_ns_ = 0;
  log_.ResetInChild();
  logged_lost_ = logged_throttled_ = 0;
  budget_.Reset();
}

void Session::AbandonInChild() {
  backend_->AbandonInChild();
  worker_is_alive_ = false;
}

}  // namespace hbbp
