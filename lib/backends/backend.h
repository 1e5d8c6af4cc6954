// Backend: a live source of samples of a process.
#ifndef HBBP_LIB_BACKENDS_BACKEND_H_
#define HBBP_LIB_BACKENDS_BACKEND_H_

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "events/event_sink.h"

namespace hbbp {

// How branches that the code alone does not resolve are resolved.
enum class TraceMode : int32_t {
  kLookAhead = 0,   // by interpretation; by a breakpoint where that fails
  kBreakpoint = 1,  // by a breakpoint
  kVerify = 2       // by interpretation, each compared with what a breakpoint finds
};

// What takes IP samples of the same threads at the same time.
struct ConcurrentSampler {
  EventKind event;
  uint64_t period;
};

struct BackendConfig {
  pid_t pid = 0;  // of another process; 0: the calling one
  EventKind event = EventKind::kAuto;
  // Of kOther, and of any kind that this is the code of; no name: the usual event of that kind.
  std::string event_name;
  uint32_t event_type = 0;  // as in perf_event_attr
  uint64_t event_config = 0;
  PeriodMode period_mode = PeriodMode::kPrime;
  uint64_t period = 0;         // 0: the default of the event
  uint64_t branch_period = 0;  // taken branches between branch stacks; 0: the default
  uint64_t frequency_hz = 0;   // instead of a period
  // How long the program will run, for the default periods of hardware events; 0: not known.
  uint64_t expected_seconds = 0;
  // kIpPlusOne takes a branch stack with every sample; kAuto is kPlain.
  EbsMethod ebs_method = EbsMethod::kAuto;
  bool imprecise = false;  // no precise events (PEBS, IBS), even if there are some
  bool include_kernel = false;
  size_t buffer_bytes = 0;  // of each ring; 0: the default
  // Of all rings together; 0: any.
  size_t max_buffer_bytes = 0;
  // Only these threads, and none that they start; sorted. Empty: all.
  std::vector<pid_t> threads;
  // Of CPU time, what sampling may take; 0: as much as the periods ask for.
  double max_overhead = 0;
  // Software branch tracing:
  TraceMode trace_mode = TraceMode::kLookAhead;
  // Taken branches a burst, at most 65,536; 0: the default of the mode.
  uint32_t burst_branches = 0;
  std::vector<ConcurrentSampler> beside;
};

// One of the sources that a started backend is.
struct SourceChoice {
  SourceKind kind = SourceKind::kEbs;
  EventKind event = EventKind::kAuto;
  std::string event_name;     // where EventName(event) does not say it all
  uint64_t period = 0;        // 0: by frequency
  uint64_t frequency_hz = 0;  // 0: by period
  std::string note;           // what was not to be had, and what is limited
  uint32_t precise_ip = 0;    // of its perf_event_attr
  EbsMethod ebs_method = EbsMethod::kPlain;
  BurstExtent burst_extent = BurstExtent::kStreams;
};

// What a started backend really does. Samples name their source by its index.
struct BackendChoice {
  std::vector<SourceChoice> sources;
};

// One thread at a time. The order of calls is Start, Drain..., Disable, Drain, Close.
class Backend {
 public:
  virtual ~Backend() = default;

  virtual const char* name() const = 0;

  // Observes every thread of the process but `excluded`, and those that start later. Names at least
  // one source. On failure nothing stays open.
  virtual Status Start(const BackendConfig& config, pid_t excluded, BackendChoice* choice) = 0;

  // Delivers what was collected since the last call. A record may be delivered before an older
  // one of another CPU, but never one older than the start of the previous Drain.
  virtual void Drain(EventSink* sink) = 0;

  // Collects nothing more; what was collected can still be drained.
  virtual void Disable() = 0;

  virtual void Close() = 0;

  // Periods from now on are so many times those of Start; each sample has the period that it was
  // taken with. Delivers what was collected, as Drain does. If it fails, they stay as they were.
  virtual Status SetPeriodFactor(double factor, EventSink* sink) = 0;

  // Did the sample, which another one took, find this backend's own work and not the program's?
  virtual bool IsOwnWork(const IpSample& /*sample*/) const { return false; }

  // CPU time that samples took from the profiled threads since Start, about.
  virtual uint64_t SamplingNs() const = 0;
  // The same, for context switches that its events make longer, whatever their periods are.
  virtual uint64_t SwitchingNs() { return 0; }
  // Memory that is mapped for buffers.
  virtual uint64_t BufferBytes() const = 0;

  // After fork, in the child: lets go of what belongs to the parent.
  virtual void ResetInChild() = 0;
  // The same where nothing may be freed; the backend is not used again.
  virtual void AbandonInChild() {}

  // How long the buffers last: Drain must be called at least so often.
  virtual int DrainIntervalMs() const = 0;
};

// kEbs, kLbr (which is EBS as well), kIbs, kSwbt, kEbsAndSwbt; kNone: hardware branch records if
// there are any, else EBS; kAuto: these, else software branch tracing. nullptr for what is not live
// here.
std::unique_ptr<Backend> MakeBackend(SourceKind kind);

}  // namespace hbbp

#endif  // HBBP_LIB_BACKENDS_BACKEND_H_
