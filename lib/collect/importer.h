// Importer counts the samples of a recording, which may be of several processes.
#ifndef HBBP_LIB_COLLECT_IMPORTER_H_
#define HBBP_LIB_COLLECT_IMPORTER_H_

#include <cstdint>
#include <memory>
#include <utility>

#include "base/counted_memory.h"
#include "base/work.h"
#include "collect/aggregator.h"
#include "collect/memory_use.h"
#include "collect/recorded_locator.h"
#include "events/event_sink.h"
#include "profile/profile_data.h"

namespace hbbp {

// One thread at a time may use it. Events come in the order of time, as far as it is known; times
// are of one clock, or all 0.
//
// Counts are kept in `memory`, and other data that may become large is charged to it. As it fills
// up, tables are flushed and slices become wider; when it is used up, samples and mappings are
// dropped, and counted as such.
class Importer : public ForwardingSink {
 public:
  // `memory` NULL means no limit.
  explicit Importer(ImportOptions options = {}, CountedMemory* memory = nullptr);
  Importer(const Importer&) = delete;
  Importer& operator=(const Importer&) = delete;

  uint32_t AddSource(SourceRecord source) { return aggregator_.AddSource(std::move(source)); }
  SourceRecord& source(uint32_t index) { return aggregator_.source(index); }

  RecordedLocator& locator() { return locator_; }
  const RecordedLocator& locator() const { return locator_; }
  const Aggregator& aggregator() const { return aggregator_; }
  CountedMemory* memory() const { return memory_; }
  // See IbsAttribution.
  void SetMemoryNodes(const MemoryNodes* nodes) { aggregator_.SetMemoryNodes(nodes); }

  void OnMapping(MappingEvent mapping) override;
  void OnCode(CodeEvent code) override;
  void OnSample(const IpSample& sample) override;
  void OnBurst(const BurstSample& burst) override;
  void OnIbsOp(const IpSample& sample, const IbsOp& op) override;
  void OnIbsFetch(const IpSample& sample, const IbsFetch& fetch) override;

  MemoryLosses dropped() const {
    return {aggregator_.dropped_samples(), locator_.dropped_mappings()};
  }

  // Returns the counts so far, sorted. With `check`, throws WorkCancelled if it is cancelled.
  ProfileData Snapshot(CancelCheck* check = nullptr) { return aggregator_.Snapshot(check); }

 private:
  void KeepMemory();

  const std::unique_ptr<CountedMemory> own_memory_;
  CountedMemory* const memory_;
  uint64_t keep_above_;  // used bytes above which KeepMemory acts
  RecordedLocator locator_;
  Aggregator aggregator_;
};

}  // namespace hbbp

#endif  // HBBP_LIB_COLLECT_IMPORTER_H_
