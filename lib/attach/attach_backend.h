// AttachBackend traces branches of another process by software, from outside: it stops each thread
// that runs for the length of a burst, and interprets what the thread executes next.
//
// Nothing is loaded into the process, no signal is sent to it, and no breakpoint is set in it. Its
// threads are looked at by the clock, at times that do not depend on what they do; one that runs
// then begins a burst, which stands for the CPU time that the thread has used since its last one.
//
// Assumption: a thread is as likely to be stopped at one location of its code as the time it spends
// there says. Where it stops late, because it has just entered a system call, the sample is dropped
// with its time. A program whose slices of CPU time are shorter than a stop takes (some 10
// microseconds) is seen too rarely:
//
//   for (;;) { read(fd, &request, 1); for (int i = 0; i < 1000; ++i) Work(); }
#ifndef HBBP_LIB_ATTACH_ATTACH_BACKEND_H_
#define HBBP_LIB_ATTACH_ATTACH_BACKEND_H_

#include <sys/types.h>

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "attach/exec_watch.h"
#include "attach/process_tracer.h"
#include "attach/stop_budget.h"
#include "attach/thread_stop.h"
#include "attach/thread_times.h"
#include "backends/backend.h"
#include "backends/burst_weights.h"
#include "backends/fault_time.h"
#include "backends/mapping_watch.h"
#include "backends/perf_backend.h"
#include "events/period.h"

namespace hbbp {

class AttachBackend : public Backend {
 public:
  AttachBackend() = default;

  const char* name() const override { return "swbt"; }
  Status Start(const BackendConfig& config, pid_t excluded, BackendChoice* choice) override;
  // Stops threads, if it is time to.
  void Drain(EventSink* sink) override;
  void Disable() override;
  void Close() override;
  Status SetPeriodFactor(double factor, EventSink* sink) override;
  uint64_t SamplingNs() const override { return stopped_ns_; }
  uint64_t BufferBytes() const override;
  void ResetInChild() override;
  int DrainIntervalMs() const override;

 private:
  struct Scan {
    uint64_t begin_ns = 0;           // CLOCK_MONOTONIC
    uint64_t elapsed_ns = 0;         // since the one before
    uint64_t used_ns = 0;            // CPU time of the process in that
    uint64_t listing_ns = 0;         // CPU time that finding the threads took
    uint64_t stopped_before_ns = 0;  // by all stops
  };
  // Why a stopped thread gave no burst, or its burst ended: counters of the profile.
  using Counts = std::map<std::string, uint64_t>;

  Status CheckOptions(const BackendConfig& config) const;
  void ObserveMappings();
  void DeliverMappingAt(uint64_t ip, EventSink* sink);
  void DeliverMissingMappings(std::span<const TakenBranch> branches, EventSink* sink);
  void EndObserverIfSwitchesAreMany(EventSink* sink);
  void ScanThreads();
  // Stops each thread that the scan found to run for a burst, or some of them.
  void StopThreads(EventSink* sink);
  void StopThread(pid_t tid, EventSink* sink);
  void TakeBurst(ThreadStop* thread, pid_t tid, double period, EventSink* sink);
  void CountStop(const ThreadStop& thread);
  void Verify(ThreadStop* thread, const TracedBurst& burst);
  void LetLateThreadsGo();
  // Returns whether it still waits.
  bool WaitsForExec();
  std::vector<pid_t> WithoutResting(std::vector<pid_t> threads);
  void DeliverMappings(EventSink* sink);
  void DeliverStatistics(EventSink* sink) const;
  uint64_t Period() const;

  pid_t pid_ = 0;
  bool is_child_ = false;  // of this process, so that another thread of it waits for the end
  TraceMode mode_ = TraceMode::kLookAhead;
  trace::BurstLimits limits_;
  bool is_enabled_ = false;
  std::optional<ExecWatch> exec_watch_;  // while it waits for an exec
  bool has_executed_ = false;            // in this run or an earlier one, as was waited for
  uint64_t period_ns_ = 0;
  bool has_budget_ = false;
  double factor_ = 1;
  PeriodDraw draw_{1};
  uint64_t next_ns_ = 0;  // CLOCK_MONOTONIC
  std::unique_ptr<ProcessTracer> tracer_;
  std::optional<ThreadTimes> times_;
  BurstWeights weights_;
  std::optional<FaultTime> fault_time_;
  // Threads that are to be let go when they stop, or to be waited for. Meanwhile no other thread is
  // stopped.
  std::list<ThreadStop> late_;
  // Until when (CLOCK_MONOTONIC) threads are not stopped, by thread.
  std::map<pid_t, uint64_t> resting_;

  // Of mappings: the first if there are perf events and threads seldom switch, neither if another
  // backend reports them.
  std::unique_ptr<PerfBackend> observer_;
  std::optional<MappingWatch> mapping_watch_;
  uint64_t last_mappings_ns_ = 0;

  TraceStatistics statistics_;
  Counts counts_;
  uint64_t stopped_ns_ = 0;  // of all stops
  Scan scan_;
  std::vector<pid_t> to_stop_;  // threads that it found, the next one last
  StopBudget budget_;
};

}  // namespace hbbp

#endif  // HBBP_LIB_ATTACH_ATTACH_BACKEND_H_
