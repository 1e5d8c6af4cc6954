// Aggregator counts samples and bursts from all sources into ProfileData.
//
// Each is counted by source, thread, location of code and slice of time. A Locator finds the
// location and the thread, and receives all events that say where code is. Bursts are counted in a
// table for each source, at memory speed. With slices the table belongs to one slice; when another
// begins it is flushed into a list of branches, the first part of which is sorted.
//
// Counts are kept in the memory that is given. As that fills up, tables are flushed and slices
// become wider; when it is used up, samples are dropped, and counted as such.
//
// On request the bursts that were counted are also kept as a whole, in a part of that memory.
#ifndef HBBP_LIB_COLLECT_AGGREGATOR_H_
#define HBBP_LIB_COLLECT_AGGREGATOR_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <memory_resource>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/counted_memory.h"
#include "base/work.h"
#include "collect/branch_table.h"
#include "collect/burst_keeper.h"
#include "collect/code_location.h"
#include "collect/data_keeper.h"
#include "collect/ibs_attribution.h"
#include "collect/ip_table.h"
#include "collect/kept_detail.h"
#include "collect/locator.h"
#include "events/event_sink.h"
#include "profile/profile_data.h"

namespace hbbp {

// One thread at a time may use it.
class Aggregator final : public ForwardingSink {
 public:
  // `locator` and `memory` must outlive the aggregator.
  Aggregator(Locator* locator, const KeptDetail& detail, CountedMemory* memory);

  // Returns the index of the source.
  uint32_t AddSource(SourceRecord source);
  SourceRecord& source(uint32_t index) { return sources_[index]; }
  std::span<const SourceRecord> sources() const { return sources_; }
  std::span<SourceRecord> sources() { return sources_; }

  // Begins the first slice, if this is the first call and nothing was counted yet.
  void BeginSlices(uint64_t time_ns) { slice_clock_.Begin(time_ns); }

  bool HasThread(uint32_t pid, uint32_t tid) const { return threads_by_id_.contains({pid, tid}); }
  // Returns false if nothing was counted of that thread yet.
  bool RenameThread(uint32_t pid, uint32_t tid, const std::string& name);

  // These are of EventSink; the locator receives the rest.
  void OnFork(const ForkEvent& fork) override;
  void OnExec(uint32_t pid) override;
  void OnExit(uint32_t pid) override;
  void OnData(const DataEvent& data) override;
  void OnThreadName(uint32_t pid, uint32_t tid, const std::string& name) override;
  void OnSample(const IpSample& sample) override { (void)CountSample(sample); }
  // A burst without a stream counts its branches only.
  void OnBurst(const BurstSample& burst) override;
  void OnIbsOp(const IpSample& sample, const IbsOp& op) override;
  void OnIbsFetch(const IpSample& sample, const IbsFetch& fetch) override {
    (void)CountIbs(sample, fetch);
  }
  void OnLost(uint32_t source, uint64_t samples) override { sources_[source].lost += samples; }
  void OnThrottled(uint32_t source) override { ++sources_[source].throttled; }
  void OnTraceStatistics(uint32_t source, const TraceStatistics& statistics) override {
    sources_[source].trace = statistics;
  }
  void OnBurstExtent(uint32_t source, BurstExtent extent) override {
    sources_[source].burst_extent = extent;
  }
  // Counts samples that were dropped for want of memory before they came here.
  void Drop(uint32_t source, uint64_t samples);
  // A dropped burst counts once for each repeat. The counter "no-memory" has those of a source.
  uint64_t dropped_samples() const { return dropped_samples_; }

  // What keeps bursts, and accesses by data; null: they are not kept.
  struct Keepers {
    std::unique_ptr<BurstKeeper> bursts;
    std::unique_ptr<DataKeeper> data;
  };
  void SwapKeepers(Keepers* keepers) {
    keepers_.bursts.swap(keepers->bursts);
    keepers_.data.swap(keepers->data);
  }
  // See IbsAttribution; `nodes` are instead of those of KeptDetail.
  void SetMemoryNodes(const MemoryNodes* nodes) {
    read_memory_nodes_ = nullptr;
    ibs_attribution_.SetMemoryNodes(nodes);
  }
  DataKeeper* data_keeper() { return keepers_.data.get(); }

  // Frees all memory that is not needed.
  void Compact();
  // Returns how often Compact ran.
  uint64_t compactions() const { return compactions_; }
  // Makes slices twice as wide; returns false if there are fewer than two.
  bool WidenSlices();
  bool has_widened_slices() const { return has_widened_slices_; }
  uint64_t slice_width_ns() const { return slice_clock_.slices().width_ns; }

  // Returns the counts so far, sorted. With `check`, throws WorkCancelled if it is cancelled.
  ProfileData Snapshot(CancelCheck* check = nullptr);

 private:
  // State of a source in addition to its record.
  struct SourceTable {
    explicit SourceTable(CountedMemory* memory) : table(memory) {}

    BranchTable table;  // of locations
    uint32_t slice = kNoSlice;
    uint64_t dropped = 0;
  };

  // Returns the location, or nothing if the sample is unmapped or was dropped.
  std::optional<SampleLocation> CountSample(const IpSample& sample);
  void CountBurst(const BurstSample& burst, uint32_t thread, double weight);
  template <typename Ibs>
  std::optional<SampleLocation> CountIbs(const IpSample& sample, const Ibs& ibs);
  template <typename Body>
  void CountOrDrop(uint32_t source, uint64_t samples, Body&& count);
  uint32_t ThreadFor(uint32_t pid, uint32_t tid);
  uint32_t SliceAt(uint64_t time_ns);
  void BoundSlices();
  void MergeSlices();
  void FlushTable(uint32_t source, CancelCheck* check);
  void FlushBranches(uint32_t source);
  template <typename Branches>
  void AppendTable(uint32_t source, CancelCheck* check, Branches* branches) const;

  Locator& locator_;
  CountedMemory* const memory_;
  Keepers keepers_;
  MemoryCharge charge_;  // for threads
  std::vector<SourceRecord> sources_;
  std::vector<ThreadRecord> threads_;
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> threads_by_id_;
  SliceClock slice_clock_;
  IpTable ip_table_;
  std::vector<SourceTable> branch_tables_;  // by source
  std::pmr::vector<BranchCount> branches_;  // the first part is sorted
  size_t sorted_branches_ = 0;
  std::vector<TakenBranch> locations_;         // of the burst that is being counted
  const MemoryNodes* (*read_memory_nodes_)();  // is called when an op needs them
  IbsAttribution ibs_attribution_;
  MemoryCharge ibs_charge_;
  uint64_t burst_number_ = 0;
  uint64_t dropped_samples_ = 0;
  uint64_t compact_again_at_ = 0;  // a number of dropped samples
  uint64_t compactions_ = 0;
  bool has_widened_slices_ = false;
};

}  // namespace hbbp

#endif  // HBBP_LIB_COLLECT_AGGREGATOR_H_
