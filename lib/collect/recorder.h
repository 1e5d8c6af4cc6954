// Recorder counts the samples of a process while it runs.
//
// Samples and bursts wait until a drain of all buffers is complete, because the mapping that they
// belong to may still be in the buffer of another CPU. All other events are passed on at once.
#ifndef HBBP_LIB_COLLECT_RECORDER_H_
#define HBBP_LIB_COLLECT_RECORDER_H_

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <memory_resource>
#include <string>
#include <utility>
#include <vector>

#include "base/counted_memory.h"
#include "base/work.h"
#include "collect/aggregator.h"
#include "collect/burst_queue.h"
#include "collect/kept_detail.h"
#include "collect/live_locator.h"
#include "collect/memory_use.h"
#include "events/event_sink.h"
#include "profile/profile_data.h"

namespace hbbp {

// One thread at a time may use it.
//
// Counts are kept in `memory`, and other data that may become large is charged to it. When it is
// used up, samples are dropped, and counted as such.
class Recorder : public ForwardingSink {
 public:
  // This is the owner of the sources of the backend.
  static constexpr uint32_t kBackend = 0;

  // `pid` 0 is the calling process, and `memory` NULL means no limit.
  explicit Recorder(pid_t pid = 0, const KeptDetail& detail = {}, CountedMemory* memory = nullptr);
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  // Begins a run of an owner. A source that it adds from here on continues an equal one of an
  // earlier run.
  void BeginRun(uint32_t owner);
  // Returns the number of the source.
  uint32_t AddSource(SourceRecord source, uint32_t owner = kBackend);
  // Begins a run of the backend; returns the numbers of its sources.
  std::vector<uint32_t> AddSources(std::vector<SourceRecord> sources);
  SourceRecord& source(uint32_t index) { return aggregator_.source(index); }

  LiveLocator& locator() { return locator_; }
  const LiveLocator& locator() const { return locator_; }
  Aggregator& aggregator() { return aggregator_; }
  const Aggregator& aggregator() const { return aggregator_; }

  // Keeps the name of a thread that may have ended when its first sample is counted.
  void RecordThread(uint32_t tid);

  // Drops samples and bursts of this thread from here on, because it works for the library. Such
  // bursts are counted ("worker-bursts"), since a tracer should not have made them. Only the last
  // 64 threads are ignored.
  void IgnoreThread(uint32_t tid);

  void OnSample(const IpSample& sample) override;
  void OnBurst(const BurstSample& burst) override;
  void OnIbsOp(const IpSample& sample, const IbsOp& op) override;
  void OnIbsFetch(const IpSample& sample, const IbsFetch& fetch) override;
  // `statistics` are those of this run.
  void OnTraceStatistics(uint32_t source, const TraceStatistics& statistics) override;
  void OnThreadName(uint32_t pid, uint32_t tid, const std::string& name) override;
  void OnExec(uint32_t pid) override;

  // Counts the waiting samples and bursts that were taken up to `complete_ns`; all mappings before
  // that time are known.
  void Commit(uint64_t complete_ns);

  // Returns the number of IP samples and bursts.
  uint64_t samples() const { return samples_ - aggregator_.dropped_samples(); }

  // Samples here include bursts.
  MemoryLosses dropped() const {
    return {aggregator_.dropped_samples(), locator_.dropped_mappings()};
  }

  // Frees all memory that is not needed.
  void Compact();

  // Returns the counts so far, sorted. With `check`, throws WorkCancelled if it is cancelled.
  ProfileData Snapshot(CancelCheck* check = nullptr);

  // Takes no memory, so that it cannot fail in a child after fork.
  void Clear();

 private:
  // State of a source in addition to its record.
  struct SourceState {
    SourceRecord added;  // as it was added; the record of the aggregator may change
    uint32_t owner = kBackend;
    bool is_in_run = false;
    TraceStatistics finished_runs;
    uint64_t worker_bursts = 0;
    uint64_t short_bursts = 0;  // with fewer than two branches, and so without a stream
  };
  template <typename Ibs>
  using IbsSamples = std::pmr::vector<std::pair<IpSample, Ibs>>;

  bool IsIgnored(uint32_t tid) const;
  bool HasWaiting() const;
  template <typename Body>
  void WaitOrDrop(uint32_t source, Body&& wait);
  template <typename Samples, typename Count>
  void CommitSamples(uint64_t complete_ns, Samples* waiting, Count&& count);
  void CountBurst(const BurstSample& burst);

  const pid_t pid_;
  const uint64_t slice_ns_;
  const MemoryNodes* (*const memory_nodes_)();
  std::unique_ptr<CountedMemory> own_memory_;  // null: a given one is used
  CountedMemory* const memory_;
  LiveLocator locator_;
  Aggregator aggregator_;
  std::vector<SourceState> source_states_;
  std::vector<uint32_t> ignored_threads_;  // oldest first
  std::pmr::vector<IpSample> waiting_;
  IbsSamples<IbsOp> waiting_ops_;
  IbsSamples<IbsFetch> waiting_fetches_;
  BurstQueue bursts_;
  uint64_t samples_ = 0;  // without those of ignored threads
};

}  // namespace hbbp

#endif  // HBBP_LIB_COLLECT_RECORDER_H_
