// Session: the lifecycle that ties a backend, external sources, a worker thread and a recorder
// together.
#ifndef HBBP_LIB_SESSION_SESSION_H_
#define HBBP_LIB_SESSION_SESSION_H_

#include <pthread.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "backends/backend.h"
#include "base/counted_memory.h"
#include "base/mutex.h"
#include "base/status.h"
#include "base/wakeup.h"
#include "base/work.h"
#include "collect/host_settings.h"
#include "collect/kept_detail.h"
#include "collect/recorder.h"
#include "collect/session_log.h"
#include "profile/profile_data.h"
#include "session/checkpoint_schedule.h"
#include "session/external_sources.h"
#include "session/session_budget.h"
#include "session/session_info.h"
#include "session/session_registry.h"
#include "session/worker_pace.h"

namespace hbbp {

enum class CheckpointKind {
  kPeriodic,  // the program goes on
  kLast,      // CheckpointNow asked for it, or the program has ended
};

// It is called from the worker.
class SessionObserver {
 public:
  virtual ~SessionObserver() = default;
  virtual void OnWorkerStarted() {}
  virtual void OnCheckpoint(ProfileData data, CheckpointKind kind) = 0;
  // Is called when there was no memory, for a checkpoint or for samples, and must need none.
  virtual void OnNoMemory() {}
};

// The share of a limit of memory that buffers may take is one in this many.
inline constexpr uint64_t kBuffersInMemory = 4;

struct SessionSettings : HostSettings, KeptDetail {
  BackendConfig backend;
  SessionObserver* observer = nullptr;
  // Sampling stops by itself at this time of CLOCK_MONOTONIC. 0: never.
  uint64_t deadline_ns = 0;
  // CLOCK_REALTIME less CLOCK_MONOTONIC, one for all processes of a recording: their start times
  // are in order whenever the clock is set. 0: what it is when the session starts.
  uint64_t realtime_offset_ns = 0;
  // Start() returns after a first checkpoint, which the end of no program can come before.
  bool has_checkpoint_at_start = false;
  // There is no worker, so that a program with one thread keeps one: Drain() does its work. Neither
  // an observer nor a deadline may be set.
  bool drained_by_host = false;
};

// All functions may be called from any thread, at once.
//
// Lock order: the registry of sessions, control_, that of an external source's driver, data_, the
// log's, the registry's list of workers. None of them but a driver's is held while the host's log
// or an external source is called, nor waited for by what is in it.
class Session : private ForkParticipant {
 public:
  // With an observer, a snapshot is taken about once a second, less often if saving it takes long,
  // so that little is lost if the process is killed.
  // Without a backend (NULL) there are external sources only.
  Session(std::unique_ptr<Backend> backend, const SessionSettings& settings);
  ~Session() override;
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // Adds a source that the host has written, next to the backend. It is started after the backend,
  // in the thread that calls Start; drained by the worker; and stopped before the backend is. Its
  // feed leads to the profile of this session; events of other processes are dropped, and counted
  // in a note. Returns kInvalidState while the session runs.
  Status AddExternalSource(std::string name, std::unique_ptr<ExternalSource> source);

  // In the log and in the external sources of the session, starting and stopping it fail. Returns
  // when sampling has begun.
  Status Start();
  Status Stop();
  // Does once what the worker does again and again, and sets `next_ms` to the time until it should
  // be called again. Waits for another thread that is in it. Returns kInvalidState if the session
  // has a worker, if it does not run, and in its log and its external sources.
  Status Drain(int* next_ms);
  // Throws WorkCancelled if it is cancelled; the session is as it was then. Progress is of steps
  // in no particular unit.
  ProfileData Snapshot(const Work& work = {});
  SessionInfo Info();

  // Is the caller the host's log of this session? There the session cannot be destroyed, as that
  // waits for the end of the log.
  bool IsInLog() const { return log_.IsInMessage(); }
  // Is the caller in a call of one of its external sources?
  bool IsInExternalSource() const {
    return external_sources_ != nullptr && external_sources_->IsInCall();
  }
  void SilenceLog() { log_.Silence(); }

  // Returns the ID of the process that is profiled; 0: this one.
  pid_t pid() const { return settings_.backend.pid; }
  // Calls LiveLocator::AddCode. Returns kBusy if there is too much code.
  Status AddCode(RuntimeAddress address, std::span<const uint8_t> bytes, const std::string& name,
                 uint64_t time_ns);

  // Adds a block of the process's data, or frees memory. Returns kBusy if there are too many
  // blocks.
  Status AddData(DataEvent data);

  // Returns whether there is a worker, which has not begun to end. Async-signal-safe.
  bool HasLiveWorker() const { return worker_is_alive_; }

  // Has the worker call OnCheckpoint now and waits for it. Takes no lock and no memory, so that
  // it may be called where the program calls _exit or exec, a signal handler included. Returns
  // false if there is no worker, or if it did not get there in time.
  bool CheckpointNow(int timeout_ms);

  // Ends sampling for good, with `note` for the sources of the profile, and has the worker take a
  // last checkpoint and end: it makes no system call once this has returned. Returns false if
  // there is no worker, or if it did not get there in time: then the session must not be destroyed.
  bool EndForGood(const char* note, int timeout_ms);

  // Has the worker look whether the program has ended. Async-signal-safe.
  void WakeWorker() { wakeup_->Post(); }

 private:
  // Only the preload library has one.
  SessionObserver* observer() const {
#ifdef HBBP_WITHOUT_OBSERVERS
    return nullptr;
#else
    return settings_.observer;
#endif
  }
  static void* WorkerMain(void* session);
  void RunWorker();
  void DrainWhateverMemoryThereIs();
  void DrainUntilEnd();
  void TakeCheckpoint(CheckpointKind kind);
  Status Attach(pid_t excluded);
  Status StartWorker();
  void AttachInCaller();
  Status CheckNotInCall() const;
  Status StartExternalSources();
  Status EndRun();
  std::vector<uint32_t> AllSources() const;
  bool HasIbsSource() const;
  void WaitUntilSettled(std::unique_lock<std::mutex>* control);
  Status BeginRun();
  void BeginStop(std::unique_lock<std::mutex>* control);
  Status FinishStop();
  Status DrainAndFlushLog(int* next_ms);
  void KeepBudgets();
  void DrainLocked();
  Status DrainAsFarAsMemoryGoes();
  void LogChoice();
  void LogLosses();
  void AppendNotes(ProfileData* snapshot) const;
  void ReadCommandOfOther();
  void EndRunLocked();
  void ClearAfterFork();
  ProfileData SnapshotLocked(CancelCheck* check);
  SessionInfo InfoLocked();
  Status AttachAndLog(pid_t excluded);
  bool WaitForSamples(int longest_ms, WorkerPace* pace);
  int MsUntilDue(const CheckpointSchedule* checkpoints);
  // Of the threads but the worker, which calls it.
  uint64_t ProgramCpuNs();
  bool HasSamplesByCpuTime() const;
  bool IsIdleSince(uint64_t program_cpu_ns);
  bool MayHaveSamples(uint64_t now_ns);
  void LockForFork() override;
  void UnlockAfterFork() override;
  void ResetInChild() override;
  void AbandonInChild() override;

  const SessionSettings settings_;
  const bool has_backend_;  // and not only external sources

  Mutex control_;  // start, stop and the worker's life
  bool is_started_ = false;
  // A thread waits for the end of the worker or of Drain, without the lock: they may be in the
  // host's log.
  bool is_stopping_ = false;
  // A thread starts the backend and the external sources, without the lock: these call the host.
  bool is_starting_ = false;
  std::condition_variable settled_;
  bool is_in_drain_ = false;
  std::condition_variable drain_ended_;
  std::atomic<pid_t> worker_tid_{0};
  pthread_t worker_{};

  std::atomic<bool> worker_is_alive_{false};
  std::atomic<bool> worker_should_end_{false};
  std::atomic<const char*> end_note_{nullptr};  // by EndForGood
  Wakeup* const wakeup_;                        // of the worker
  // Requests for a checkpoint are numbered; those up to the number that is done are served.
  std::atomic<uint32_t> checkpoints_asked_{0};
  std::atomic<uint32_t> checkpoints_done_{0};

  // Status of the attempt of a worker, once that has ended.
  std::atomic<uint32_t> attach_ended_{0};
  Status attach_status_;

  Mutex data_;  // all below
  bool running_ = false;
  std::unique_ptr<Backend> backend_;
  SessionLog log_;
  CountedMemory memory_;
  Recorder recorder_;
  std::unique_ptr<ExternalSources> external_sources_;  // NULL: none; set before a run
  bool has_counts_of_parent_ = false;  // until this child of a fork uses the session
  std::vector<uint32_t> sources_;      // of the backend, in the last run
  bool ever_started_ = false;
  std::string command_of_other_;  // if another process is observed
  uint64_t next_command_ns_ = 0;  // CLOCK_MONOTONIC, when it is read again
  uint64_t first_start_realtime_ns_ = 0;
  uint64_t run_start_ns_ = 0;
  uint64_t last_drain_ns_ = 0;      // CLOCK_MONOTONIC
  uint64_t last_drain_cpu_ns_ = 0;  // of all threads but the worker
  uint64_t program_cpu_ns_ = 0;     // the same, when it was last read
  bool had_report_ = false;         // the last wait ended so
  uint64_t finished_runs_ns_ = 0;

  SessionBudget budget_;
  uint64_t logged_lost_ = 0;
  uint64_t logged_throttled_ = 0;
};

}  // namespace hbbp

#endif  // HBBP_LIB_SESSION_SESSION_H_
