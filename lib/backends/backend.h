// Backend samples a process while it runs, and delivers the samples of one or more sources.
#ifndef HBBP_LIB_BACKENDS_BACKEND_H_
#define HBBP_LIB_BACKENDS_BACKEND_H_

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backends/sample_wait.h"
#include "base/recorded_access.h"
#include "base/shared_start.h"
#include "base/status.h"
#include "base/wakeup.h"
#include "events/event_sink.h"

namespace hbbp {

struct ProcessorTiming;

// TraceMode is the method for branches whose targets do not follow from the code alone.
enum class TraceMode : int32_t {
  kLookAhead = 0,   // by interpretation; by a breakpoint where that fails
  kBreakpoint = 1,  // by a breakpoint
  kVerify = 2       // by interpretation, each compared with what a breakpoint finds
};

// A ConcurrentSampler takes IP samples of the same threads at the same time.
struct ConcurrentSampler {
  EventKind event;
  uint64_t period;
};

struct BackendConfig {
  pid_t pid = 0;  // of another process; 0: the calling one
  EventKind event = EventKind::kAuto;
  // These three select an event by its code, for kOther or another kind. Without a name, the usual
  // event of the kind is taken.
  std::string event_name;
  uint32_t event_type = 0;  // as in perf_event_attr
  uint64_t event_config = 0;
  PeriodMode period_mode = PeriodMode::kPrime;
  uint64_t period = 0;         // 0: the default of the event
  uint64_t branch_period = 0;  // taken branches between branch stacks; 0: the default
  uint64_t frequency_hz = 0;   // instead of a period
  // Expected run time, for the default periods of hardware events; 0: unknown.
  uint64_t expected_seconds = 0;
  // kIpPlusOne takes a branch stack with every sample; kAuto is kPlain.
  EbsMethod ebs_method = EbsMethod::kAuto;
  bool imprecise = false;  // does not use precise events (PEBS, IBS)
  bool include_kernel = false;
  bool enable_on_exec = false;  // samples begin with the next program of the process
  size_t buffer_bytes = 0;      // of each ring; 0: the default
  // Limit for all rings together, and for the table of software branch tracing; 0: none.
  size_t max_buffer_bytes = 0;
  // If not empty, only these threads are sampled, and not those that they start; sorted.
  std::vector<pid_t> threads;
  // Maximum share of CPU time that sampling may take; 0: no limit.
  double max_overhead = 0;
  // The rest is for software branch tracing.
  TraceMode trace_mode = TraceMode::kLookAhead;
  // Taken branches per burst, at most 65,536; 0: the default of the mode.
  uint32_t burst_branches = 0;
  RecordedKinds recorded_kinds = 0;  // in bursts; in mode kLookAhead only
  std::vector<ConcurrentSampler> concurrent;
  // Posted when Drain should be called before its interval is over, also by signal handlers. It
  // must outlive them. nullptr: Drain is called in time.
  Wakeup* drain_request = nullptr;
  // Threads of the library, of which samples are not missed. nullptr: none but the worker.
  std::vector<pid_t> (*own_threads)() = nullptr;
  // What the forked processes of a program share of its start; it must outlive signal handlers.
  // nullptr: each Start is one of its own.
  SharedStart* shared_start = nullptr;
  // The process may end soon, and the worker has descriptors of its own: what only longer ones need
  // is opened after some milliseconds, or at an ObserverRequest.
  bool may_be_brief = false;
  // What another process has measured on this machine. nullptr: Start measures, where it must.
  const ProcessorTiming* processor = nullptr;
};

// Describes one of the sources of a started backend.
struct SourceChoice {
  SourceKind kind = SourceKind::kEbs;
  EventKind event = EventKind::kAuto;
  std::string event_name;                 // if EventName(event) is not specific enough
  uint64_t period = 0;                    // 0: by frequency
  uint64_t frequency_hz = 0;              // 0: by period
  std::optional<PeriodMode> period_mode;  // empty: that of the BackendConfig
  std::string note;                       // what is unavailable or limited
  uint32_t precise_ip = 0;                // from its perf_event_attr
  EbsMethod ebs_method = EbsMethod::kPlain;
  BurstExtent burst_extent = BurstExtent::kStreams;
};

// Describes what a started backend does. Samples have the index of their source.
struct BackendChoice {
  std::vector<SourceChoice> sources;
};

// One thread at a time may use it. The order of calls is Start, Drain..., Disable, Drain, Close.
class Backend {
 public:
  virtual ~Backend() = default;

  virtual const char* name() const = 0;

  // Starts sampling every thread of the process but `excluded` (0: none), and those that start
  // later. Sets at least one source. On failure nothing stays open.
  virtual Status Start(const BackendConfig& config, pid_t excluded, BackendChoice* choice) = 0;

  // Delivers what was collected since the last call. A record may be delivered before an older
  // one of another CPU, but never one older than the start of the previous Drain.
  virtual void Drain(EventSink* sink) = 0;

  // Stops sampling; samples that were taken before can still be drained.
  virtual void Disable() = 0;

  virtual void Close() = 0;

  // Multiplies the periods of Start by `factor` from now on; each sample has the period that it was
  // taken with. Delivers what was collected, as Drain does. On failure the periods do not change.
  virtual Status SetPeriodFactor(double factor, EventSink* sink) = 0;

  // Returns whether a sample of another backend is in a handler of this one, and not in the
  // program.
  virtual bool IsProfilerSample(const IpSample& /*sample*/) const { return false; }

  // Returns the approximate CPU time that samples took from the profiled threads since Start.
  virtual uint64_t SamplingNs() const = 0;
  // Returns the same for context switches, which the events make longer at any period.
  virtual uint64_t SwitchingNs() { return 0; }
  // Returns the size of the memory that is mapped or reserved for buffers.
  virtual uint64_t BufferBytes() const = 0;

  // Releases what belongs to the parent, in the child after a fork.
  virtual void ResetInChild() = 0;
  // Does the same where nothing may be freed; the backend is not used again.
  virtual void AbandonInChild() {}

  // Returns the longest time between two calls of Drain in which the buffers do not overflow.
  virtual int DrainIntervalMs() const = 0;
  // Returns the same for a program that uses little CPU time now, and may use more at any time.
  virtual int LongestIntervalMs() const { return DrainIntervalMs(); }
  // Returns what to wait with between two calls of Drain; null: a Wakeup.
  virtual SampleWait* sample_wait() { return nullptr; }
  // Returns whether the calling process has samples only if it uses CPU time.
  virtual bool SamplesNeedCpuTime() const { return false; }
};

// Makes a backend of kEbs, kLbr (which has EBS as well), kIbs, kSwbt or kEbsAndSwbt. kPerf takes
// hardware branch records if they are available, else EBS; kAuto tries software branch tracing
// between the two. If it is unavailable, Start's error names a source that works here, if there is
// one. Returns nullptr for other kinds, and for those that this program does not have.
// `pid` is the process that it will sample, as in BackendConfig.
std::unique_ptr<Backend> MakeBackend(SourceKind kind, pid_t pid);

}  // namespace hbbp

#endif  // HBBP_LIB_BACKENDS_BACKEND_H_
