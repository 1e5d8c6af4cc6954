// ProbeWorker runs productions on the bursts of a session while it goes on, in a thread of the
// library: rounds at an interval, and a last one when it is stopped.
//
// Contract: one thread at a time calls its functions, of which the worker itself may call
// IsThisThread. A child of fork has no worker, and what that was changing must not be used there.
#ifndef HBBP_LIB_CAPI_PROBE_WORKER_H_
#define HBBP_LIB_CAPI_PROBE_WORKER_H_

#include <pthread.h>
#include <sys/types.h>
#include <unistd.h>

#include <atomic>
#include <functional>

#include "base/status.h"
#include "base/wakeup.h"
#include "base/work.h"

namespace hbbp::capi {

class ProbeWorker {
 public:
  using Round = std::function<Status(const Work& work)>;

  ProbeWorker(Round round, int interval_ms);
  // Cancels the round that goes on, and runs no last one.
  ~ProbeWorker();
  ProbeWorker(const ProbeWorker&) = delete;
  ProbeWorker& operator=(const ProbeWorker&) = delete;

  Status Start();

  // Returns what the last round did. After a failure there are no more rounds, except of
  // kNotFound, which says that there is nothing to do yet.
  Status Stop();

  bool IsThisThread() const { return tid_ == ::gettid(); }

  // Returns whether this is a child of fork, and the worker was in a round when it forked.
  bool IsLost() const { return owner_ != 0 && owner_ != ::getpid() && is_in_round_; }

 private:
  static void* ThreadMain(void* worker);
  void Run();
  void RunRound();
  void End();

  const Round round_;
  const int interval_ms_;
  pthread_t thread_ = {};
  // The process that has the thread, once thread_ is known, which rounds wait for.
  std::atomic<pid_t> owner_{0};
  std::atomic<pid_t> tid_{0};
  Wakeup wakeup_;
  std::atomic<bool> should_end_{false};
  std::atomic<bool> is_in_round_{false};
  CancelFlag cancel_;
  Status status_;  // belongs to the thread until it has ended
};

}  // namespace hbbp::capi

#endif  // HBBP_LIB_CAPI_PROBE_WORKER_H_
