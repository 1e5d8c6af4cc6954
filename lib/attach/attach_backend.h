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
#include <string>
#include <vector>

#include "attach/process_tracer.h"
#include "attach/stop_budget.h"
#include "attach/thread_stop.h"
#include "attach/thread_times.h"
#include "backends/backend.h"
#include "backends/burst_weights.h"
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
  // Why a stopped thread gave no burst, or its burst ended: counters of the profile.
  using Counts = std::map<std::string, uint64_t>;

  Status CheckOptions(const BackendConfig& config) const;
  // Stops each thread that runs for a burst.
  void ScanThreads(EventSink* sink);
  void StopThread(pid_t tid, EventSink* sink);
  // The stop began at `begin_ns`.
  void TakeBurst(ThreadStop* thread, pid_t tid, double period, uint64_t begin_ns, EventSink* sink);
  void CountStop(uint64_t begin_ns);
  void Verify(ThreadStop* thread, const TracedBurst& burst);
  void LetLateThreadsGo();
  void DeliverMappings(EventSink* sink);
  void DeliverStatistics(EventSink* sink) const;
  uint64_t Period() const;

  pid_t pid_ = 0;
  bool is_child_ = false;  // of this process, so that another thread of it waits for the end
  TraceMode mode_ = TraceMode::kLookAhead;
  trace::BurstLimits limits_;
  bool is_enabled_ = false;
  uint64_t period_ns_ = 0;
  bool has_budget_ = false;
  double factor_ = 1;
  PeriodDraw draw_{1};
  uint64_t next_ns_ = 0;  // CLOCK_MONOTONIC
  std::unique_ptr<ProcessTracer> tracer_;
  std::optional<ThreadTimes> times_;
  BurstWeights weights_;
  std::list<ThreadStop> late_;  // threads that are to be let go when they stop

  std::unique_ptr<PerfBackend> observer_;  // of mappings and new threads, if there are perf events
  std::optional<MappingWatch> mapping_watch_;
  uint64_t last_mappings_ns_ = 0;

  TraceStatistics statistics_;
  Counts counts_;
  uint64_t stopped_ns_ = 0;  // of all stops
  uint64_t last_scan_ns_ = 0;
  StopBudget budget_;
};

}  // namespace hbbp

#endif  // HBBP_LIB_ATTACH_ATTACH_BACKEND_H_
