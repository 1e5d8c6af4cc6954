// Session: the lifecycle that ties a backend, its worker thread and a recorder together.
#ifndef HBBP_LIB_SESSION_SESSION_H_
#define HBBP_LIB_SESSION_SESSION_H_

#include <poll.h>
#include <pthread.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "backends/backend.h"
#include "base/status.h"
#include "base/unique_fd.h"
#include "profile/profile_data.h"
#include "profile/recorder.h"

namespace hbbp {

struct SessionInfo {
  bool running = false;
  uint64_t samples = 0;
  uint64_t lost = 0;
  uint64_t throttled = 0;
  uint64_t duration_ns = 0;
};

// All functions may be called from any thread, at once.
//
// Lock order: the registry of sessions, control_, data_, the registry's list of workers.
class Session {
 public:
  Session(std::unique_ptr<Backend> backend, SourceKind kind, const BackendConfig& config);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  Status Start();
  // Does not wait for the events to be open, which takes some milliseconds if they are the first
  // of the whole machine. What goes wrong is told by StartStatus.
  Status StartInBackground();
  Status StartStatus();
  Status Stop();
  ProfileData Snapshot();
  SessionInfo Info();

  // The worker hands over a snapshot about once a second, less often if `save` takes long, so
  // that little is lost if the process is killed. Before Start.
  void SetCheckpoint(std::function<void(ProfileData)> save) { checkpoint_ = std::move(save); }

 private:
  friend class SessionRegistry;

  static void* WorkerMain(void* session);
  void RunWorker();
  void WaitForWork(std::vector<pollfd>* fds, std::set<int>* ended);
  void CheckpointIfDue(uint64_t* due_ns);
  Status Attach();
  Status StartWorker();
  void StopWorker();
  void DrainLocked();
  ProfileData SnapshotLocked();
  void ForgetInChild();

  const SourceKind kind_;
  const BackendConfig config_;
  std::function<void(ProfileData)> checkpoint_;

  std::mutex control_;  // start, stop and the worker's life
  bool has_worker_ = false;
  pthread_t worker_{};
  std::atomic<bool> worker_should_end_{false};
  UniqueFd wake_fd_;

  std::mutex data_;  // all below
  std::condition_variable attached_or_failed_;
  bool attach_ended_ = false;
  Status attach_status_;
  bool running_ = false;
  std::unique_ptr<Backend> backend_;
  Recorder recorder_;
  uint32_t source_ = 0;
  bool ever_started_ = false;
  uint64_t first_start_realtime_ns_ = 0;
  uint64_t run_start_ns_ = 0;
  uint64_t finished_runs_ns_ = 0;
};

}  // namespace hbbp

#endif  // HBBP_LIB_SESSION_SESSION_H_
