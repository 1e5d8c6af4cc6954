// Event-based sampling: an instruction pointer a period, of every thread of the process.
//
// How threads are followed depends on their number. Normally each thread has an event per CPU,
// which new threads inherit at no cost; all events of a CPU share one ring. Where that takes too
// many descriptors (hundreds of threads on many CPUs), each thread has one event and one small
// ring, and new threads are found while draining, so their first moments are missed.
#ifndef HBBP_LIB_BACKENDS_EBS_H_
#define HBBP_LIB_BACKENDS_EBS_H_

#include <linux/perf_event.h>

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "backends/backend.h"
#include "base/unique_fd.h"
#include "perf/ring_buffer.h"
#include "perf/sample_record.h"
#include "samples/period.h"

namespace hbbp {

class EbsBackend : public Backend {
 public:
  EbsBackend();
  ~EbsBackend() override;

  const char* name() const override { return "ebs"; }
  Status Start(const BackendConfig& config, pid_t excluded, BackendChoice* choice) override;
  void Drain(SampleSink* sink) override;
  void Disable() override;
  void Close() override;
  void ForgetInChild() override;
  int DrainIntervalMs() const override { return drain_interval_ms_; }

  // Takes no samples: Drain tells only of mappings, names and new threads. Before Start.
  void ObserveOnly() { observes_only_ = true; }

  // Were there threads born since the last call?
  bool TakeNewThreads() { return std::exchange(sees_new_threads_, false); }

  // For tests: as if descriptors were so short that each thread can have only one.
  void PreferOneEventPerThread() { force_per_thread_ = true; }

 private:
  // An open event: of one thread on one CPU, or on every CPU (cpu -1).
  struct Event {
    pid_t tid;
    int cpu;
    UniqueFd fd;
    bool ended = false;
  };
  struct Ring {
    int cpu;    // -1: of one thread
    pid_t tid;  // of the thread whose event it was mapped from
    int fd;     // of that event, which outlives the ring
    RingBuffer buffer;
  };

  Status ChooseEvent(const BackendConfig& config, BackendChoice* choice);
  Status ProbeAttr(const std::string& event_name);
  Status AttachProcess();
  Status AttachThread(pid_t tid);
  Status AttachThreadOnCpu(pid_t tid, int cpu);
  Status AttachNewThreads();
  void Deliver(int cpu, std::span<const uint8_t> record, SampleSink* sink);
  bool IsDuplicate(int cpu, const SampleHead& sample);
  void RedrawPeriods();
  int ChooseDrainInterval(const BackendChoice& choice) const;

  bool observes_only_ = false;
  bool sees_new_threads_ = false;
  bool force_per_thread_ = false;
  bool per_thread_ = false;
  perf_event_attr attr_;
  std::string event_name_;
  uint64_t random_period_ = 0;  // 0: periods do not change
  PeriodDraw draw_{1};
  pid_t pid_ = 0;
  pid_t excluded_ = 0;
  size_t ring_bytes_ = 0;
  int drain_interval_ms_ = 1;
  std::vector<int> cpus_;
  std::set<pid_t> attached_;
  std::vector<Event> events_;
  std::vector<Ring> rings_;
  bool has_new_threads_ = false;  // FORK records told of some since the last look
  bool may_see_twice_ = false;    // some threads may have events of their own and inherited ones
  // By thread and CPU: the id of the event whose samples are delivered.
  std::map<std::pair<uint32_t, int>, uint64_t> deciding_events_;
};

}  // namespace hbbp

#endif  // HBBP_LIB_BACKENDS_EBS_H_
