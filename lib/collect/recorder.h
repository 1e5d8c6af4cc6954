// Recorder: counts the samples of a process, while it runs.
#ifndef HBBP_LIB_COLLECT_RECORDER_H_
#define HBBP_LIB_COLLECT_RECORDER_H_

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <memory_resource>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/counted_memory.h"
#include "base/work.h"
#include "collect/aggregator.h"
#include "collect/burst_queue.h"
#include "collect/live_locator.h"
#include "collect/memory_use.h"
#include "events/samples.h"
#include "profile/profile_data.h"

namespace hbbp {

// One thread at a time.
//
// Counts are in `memory`, what else may become large is charged to it. Where that is used up,
// samples are dropped, and counted.
class Recorder : public SampleSink {
 public:
  // Process 0: the calling one. Slices 0: none are kept. Memory NULL: as much as there is.
  explicit Recorder(pid_t pid = 0, uint64_t slice_ns = 0, CountedMemory* memory = nullptr);
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  // What a backend that was started tells belongs to these sources from here on. All have been
  // settled that the one before it told. Returns their indices.
  std::vector<uint32_t> AddSources(std::vector<SourceRecord> sources);
  uint32_t AddSource(SourceRecord source) { return AddSources({std::move(source)}).front(); }
  SourceRecord& source(uint32_t index) { return aggregator_.source(index); }

  // The first slice begins, if this is the first call.
  void BeginSlices(uint64_t time_ns) { aggregator_.BeginSlices(time_ns); }

  // LiveLocator's of the same names.
  Status AddCurrentMappings(uint64_t time_ns) { return locator_.AddCurrentMappings(time_ns); }
  bool AddCode(RuntimeAddress address, std::span<const uint8_t> bytes, const std::string& name,
               uint64_t time_ns) {
    return locator_.AddCode(address, bytes, name, time_ns);
  }
  const std::vector<std::string>& jit_dumps() const { return locator_.jit_dumps(); }

  // A thread that may have ended when its first sample is looked at: its name is what it is now,
  // until another one comes.
  void NoteThread(uint32_t tid);

  // Samples and bursts of this thread are the library's own work and are dropped. Such bursts are
  // counted ("worker-bursts"), since a tracer should not have made them. The last 64 are known.
  void IgnoreThread(uint32_t tid);

  // SampleSink. Samples wait until the drain is complete, since the mapping that they belong to
  // may still be in another CPU's buffer.
  void OnSample(const IpSample& sample) override;
  void OnBurst(const BurstSample& burst) override;
  void OnTraceStatistics(uint32_t source, const TraceStatistics& statistics) override;
  void OnMapping(MappingEvent mapping) override { locator_.AddMapping(std::move(mapping)); }
  void OnThreadName(uint32_t pid, uint32_t tid, const std::string& name) override;
  void OnLost(uint32_t source, uint64_t samples) override {
    aggregator_.source(current_sources_[source]).lost += samples;
  }
  void OnThrottled(uint32_t source) override {
    ++aggregator_.source(current_sources_[source]).throttled;
  }

  // Counts the waiting samples and bursts taken up to `complete_ns`: everything mapped before is
  // known.
  void Settle(uint64_t complete_ns);

  // IP samples and bursts.
  uint64_t samples() const { return samples_ - aggregator_.dropped_samples(); }

  // Samples are bursts as well.
  MemoryLosses dropped() const {
    return {aggregator_.dropped_samples(), locator_.dropped_mappings()};
  }

  // Aggregator's of the same names.
  void Compact();
  bool WidenSlices() { return aggregator_.WidenSlices(); }
  bool has_widened_slices() const { return aggregator_.has_widened_slices(); }
  uint64_t slice_width_ns() const { return aggregator_.slice_width_ns(); }

  // The counts so far, sorted. With `check`, throws WorkCancelled if it is called off.
  ProfileData Snapshot(CancelCheck* check = nullptr);

  void Clear();

 private:
  // What is known of a source beyond its record.
  struct SourceState {
    TraceStatistics finished_runs;  // the backend counts from its start on
    uint64_t worker_bursts = 0;
    uint64_t short_bursts = 0;  // fewer than two branches: no stream
  };

  uint32_t IndexOf(SourceRecord source);
  bool IsIgnored(uint32_t tid) const;
  void CountBurst(const BurstSample& burst);

  const pid_t pid_;
  const uint64_t slice_ns_;
  std::unique_ptr<CountedMemory> own_memory_;
  CountedMemory* const given_memory_;
  CountedMemory* const memory_;
  LiveLocator locator_;
  Aggregator aggregator_;
  std::vector<SourceState> source_states_;
  std::vector<uint32_t> current_sources_;  // by the number that the backend gives them
  std::vector<uint32_t> ignored_threads_;  // oldest first
  std::pmr::vector<IpSample> waiting_;
  BurstQueue bursts_;
  uint64_t samples_ = 0;  // that came, but for those of ignored threads
};

}  // namespace hbbp

#endif  // HBBP_LIB_COLLECT_RECORDER_H_
