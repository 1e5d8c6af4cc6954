// Session: the lifecycle that ties a backend, its worker thread and a recorder together.
#ifndef HBBP_LIB_SESSION_SESSION_H_
#define HBBP_LIB_SESSION_SESSION_H_

#include <pthread.h>
#include <semaphore.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "backends/backend.h"
#include "base/status.h"
#include "profile/profile_data.h"
#include "profile/recorder.h"
#include "session/session_registry.h"

namespace hbbp {

struct SessionInfo {
  bool running = false;
  uint64_t samples = 0;
  uint64_t lost = 0;
  uint64_t throttled = 0;
  uint64_t duration_ns = 0;
  uint64_t waiting = 0;  // fed, but not counted yet, as what was earlier may be to come
  uint64_t dropped = 0;  // fed, but of no use
};

// Called from the worker.
class SessionObserver {
 public:
  virtual ~SessionObserver() = default;
  virtual void OnWorkerStarted() {}
  virtual void OnCheckpoint(ProfileData data) = 0;
  virtual void OnAttachFailed(const Status& status) = 0;
};

struct SessionSettings {
  BackendConfig backend;
  SessionObserver* observer = nullptr;
  // Of CLOCK_MONOTONIC; sampling stops by itself then. 0: never.
  uint64_t deadline_ns = 0;
  uint64_t slice_ns = 0;  // of time that counts are kept by; 0: they are not
};

// All functions may be called from any thread, at once.
//
// Lock order: the registry of sessions, control_, data_, the registry's list of workers.
class Session : private ForkParticipant {
 public:
  // With an observer, a snapshot is taken about once a second, less often if saving it takes long,
  // so that little is lost if the process is killed.
  Session(std::unique_ptr<Backend> backend, const SessionSettings& settings);
  ~Session() override;
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  Status Start();
  // Does not wait for the events to be open, which takes some milliseconds if they are the first
  // of the whole machine.
  Status StartInBackground();
  Status Stop();
  ProfileData Snapshot();
  SessionInfo Info();

  // Has the worker call OnCheckpoint now and waits for it. Takes no lock and no memory, so that
  // it may be called where the program calls _exit or exec, a signal handler included. False if
  // there is no worker, or if it did not get there in time.
  bool CheckpointNow(int timeout_ms);

 private:
  static void* WorkerMain(void* session);
  void RunWorker();
  void Work();
  void SleepUntilWoken(int milliseconds);
  Status Attach();
  Status StartWorker();
  void StopWorker();
  void DrainLocked();
  void NoteCommandOfOther();
  void EndRunLocked();
  ProfileData SnapshotLocked();
  void LockForFork() override;
  void UnlockAfterFork() override;
  void ForgetInChild() override;

  const SessionSettings settings_;

  std::mutex control_;  // start, stop and the worker's life
  bool has_worker_ = false;
  pthread_t worker_{};

  std::atomic<bool> worker_is_alive_{false};
  std::atomic<bool> worker_should_end_{false};
  sem_t wake_;
  // Requests for a checkpoint are numbered; those up to the number that is done are served.
  std::atomic<uint32_t> checkpoints_asked_{0};
  std::atomic<uint32_t> checkpoints_done_{0};

  std::mutex data_;  // all below
  std::condition_variable attach_ended_signal_;
  bool attach_ended_ = false;
  Status attach_status_;
  bool running_ = false;
  std::unique_ptr<Backend> backend_;
  Recorder recorder_;
  std::vector<uint32_t> sources_;  // of the last run
  bool ever_started_ = false;
  std::string command_of_other_;  // if another process is observed
  uint64_t first_start_realtime_ns_ = 0;
  uint64_t run_start_ns_ = 0;
  uint64_t finished_runs_ns_ = 0;
};

}  // namespace hbbp

#endif  // HBBP_LIB_SESSION_SESSION_H_
