// SessionBudget: what a session costs the program, and what is done to keep that within its budgets
// of time and of memory.
#ifndef HBBP_LIB_SESSION_SESSION_BUDGET_H_
#define HBBP_LIB_SESSION_SESSION_BUDGET_H_

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>

#include "backends/backend.h"
#include "base/counted_memory.h"
#include "collect/recorder.h"
#include "collect/session_log.h"
#include "session/overhead_budget.h"
#include "session/session_info.h"

namespace hbbp {

// It is used by one thread at a time.
class SessionBudget {
 public:
  // All must outlive it.
  struct Parts {
    const BackendConfig* config;
    Backend* backend;
    Recorder* recorder;
    CountedMemory* memory;
    SessionLog* log;
  };

  // If `max_memory` is 0, there is no limit.
  SessionBudget(const Parts& parts, uint64_t max_memory);

  // A run lasts from when the backend was started until it was drained for the last time.
  void BeginRun();
  void EndRun();
  // Is called when the backend is closed and its buffers are gone.
  void ReleaseBuffers();
  // Is called in the child of a fork, after that.
  void Reset();

  // Sets the CPU time that the worker has used since the run began.
  void SetWorkerCost(uint64_t ns) { worker_cost_ns_ = ns; }
  // Adds CPU time that another thread used to drain.
  void AddCallerCost(uint64_t ns) { caller_cost_ns_ += ns; }

  // Compacts memory, widens slices, and lengthens or shortens periods. Samples that the backend
  // delivers meanwhile go to `sink`.
  void Keep(EventSink* sink);
  void LogDropped();

  void AddTo(SessionInfo* info);
  // Returns what the notes of sources whose periods it changes are to say; "" if there is nothing.
  std::string PeriodNote() const;

 private:
  uint64_t CpuNsNow();
  uint64_t KnownCpuNs(pid_t id, bool is_thread);
  uint64_t CostNs() const;
  OverheadBudget::Usage Usage();
  void StartAnew();
  void ChargeBuffers(uint64_t bytes);
  void KeepMemory(EventSink* sink);
  void KeepOverhead(EventSink* sink);
  void SetFactor(const char* why, EventSink* sink);

  const BackendConfig& config_;
  Backend& backend_;
  Recorder& recorder_;
  CountedMemory& memory_;
  SessionLog& log_;
  const uint64_t max_memory_;

  bool is_running_ = false;
  OverheadBudget overhead_;
  double memory_factor_ = 1;
  double factor_ = 1;
  double largest_factor_ = 1;
  uint64_t period_changes_ = 0;
  bool periods_are_stuck_ = false;
  uint64_t buffer_bytes_ = 0;  // as charged to memory_
  uint64_t checked_memory_ = 0;
  uint64_t logged_dropped_ = 0;
  uint64_t cpu_begin_ns_ = 0;
  uint64_t finished_cpu_ns_ = 0;
  uint64_t worker_cost_ns_ = 0;  // of this run
  uint64_t caller_cost_ns_ = 0;  // of this run: drains in threads that asked
  uint64_t finished_cost_ns_ = 0;
  // The CPU time of another process, or of the threads that are profiled, when it was last known.
  std::map<pid_t, uint64_t> known_cpu_ns_;
};

}  // namespace hbbp

#endif  // HBBP_LIB_SESSION_SESSION_BUDGET_H_
