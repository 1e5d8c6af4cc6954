// Recorder: turns the samples of a process, while it runs, into ProfileData.
#ifndef HBBP_LIB_COLLECT_RECORDER_H_
#define HBBP_LIB_COLLECT_RECORDER_H_

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <memory_resource>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/counted_memory.h"
#include "base/work.h"
#include "collect/address_space.h"
#include "collect/branch_count_of.h"
#include "collect/branch_table.h"
#include "collect/burst_queue.h"
#include "collect/copied_pages.h"
#include "collect/generated_code.h"
#include "collect/ip_table.h"
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
  SourceRecord& source(uint32_t index) { return data_.sources[index]; }

  // The first slice begins, if this is the first call.
  void BeginSlices(uint64_t time_ns) { slice_clock_.Begin(time_ns); }

  // Adds what is mapped now, as mapped at `time_ns`.
  Status AddCurrentMappings(uint64_t time_ns);

  // Code that the process has generated, from this time on; `name` of a function, or empty. What
  // was there before keeps its samples. False if it is too much to keep: its samples are counted
  // with those of other generated code.
  bool AddCode(RuntimeAddress address, std::span<const uint8_t> bytes, const std::string& name,
               uint64_t time_ns);

  // Files of the process that look like what a JIT tells perf, by rising time of their mapping.
  const std::vector<std::string>& jit_dumps() const { return jit_dumps_; }

  // A thread that may have ended when its first sample is looked at: its name is what it is now,
  // until another one comes. Names of threads without samples are kept for a limited number.
  void NoteThread(uint32_t tid);

  // Samples and bursts of this thread are the library's own work and are dropped. Such bursts are
  // counted ("worker-bursts"), since a tracer should not have made them. The last 64 are known.
  void IgnoreThread(uint32_t tid);

  // SampleSink. Samples wait until the drain is complete, since the mapping that they belong to
  // may still be in another CPU's buffer.
  void OnSample(const IpSample& sample) override {
    if (!HasMemoryFor([&] { waiting_.push_back(sample); })) ++dropped_.samples;
  }
  void OnBurst(const BurstSample& burst) override {
    if (!HasMemoryFor([&] { bursts_.Add(burst); })) ++dropped_.samples;
  }
  void OnTraceStatistics(uint32_t source, const TraceStatistics& statistics) override;
  void OnMapping(MappingEvent mapping) override;
  void OnThreadName(uint32_t pid, uint32_t tid, const std::string& name) override;
  void OnLost(uint32_t source, uint64_t samples) override {
    data_.sources[current_sources_[source]].lost += samples;
  }
  void OnThrottled(uint32_t source) override {
    ++data_.sources[current_sources_[source]].throttled;
  }

  // Counts the waiting samples and bursts taken up to `complete_ns`: everything mapped before is
  // known.
  void Settle(uint64_t complete_ns);

  // IP samples and bursts.
  uint64_t samples() const { return samples_ + waiting_.size() + bursts_.size(); }

  // Samples are bursts as well.
  const MemoryLosses& dropped() const { return dropped_; }

  // Gives back the memory that it can do without.
  void Compact();
  // Makes slices twice as wide; false if there are no two.
  bool WidenSlices();
  bool has_widened_slices() const { return has_widened_slices_; }
  uint64_t slice_width_ns() const { return slice_clock_.slices().width_ns; }

  // The counts so far, sorted. With `check`, throws WorkCancelled if it is called off.
  ProfileData Snapshot(CancelCheck* check = nullptr);

  void Clear();

 private:
  // What is known of a module beyond its record.
  struct ModuleState {
    RuntimeAddress header;        // of file offset 0, when it was last seen mapped
    bool identified = false;      // its first sample was seen
    bool has_given_code = false;  // the host has told what code it has
  };

  // What is known of a source beyond its record.
  struct SourceState {
    TraceStatistics finished_runs;  // the backend counts from its start on
    uint64_t worker_bursts = 0;
    uint64_t short_bursts = 0;  // fewer than two branches: no stream
  };

  template <typename Body>
  void CountOrDrop(Body&& count);
  void ChargeNextInterval();
  void AddMapping(MappingEvent mapping);

  uint32_t IndexOf(SourceRecord source);
  // With what is known of it.
  uint32_t AddModule(ModuleRecord record);
  uint32_t ModuleFor(const MappingEvent& mapping);
  void Place(const MappingEvent& mapping, const AddressSpace::Placement& placement,
             const std::function<bool(const AddressSpace::Placement&)>& stays);
  uint32_t SpecialModule(ModuleKind kind, const std::string& path);
  uint32_t KernelModule() { return SpecialModule(ModuleKind::kKernel, kRunningKernel); }
  uint32_t ThreadFor(uint32_t pid, uint32_t tid);
  void SetNameAhead(uint32_t tid, const std::string& name);
  bool IsIgnored(uint32_t tid) const;
  void Count(const IpSample& sample);
  void CountBurst(const BurstSample& burst);
  void NoteBurst(uint32_t source, const BurstSample& burst);
  void NoteReplacement(uint64_t time_ns);
  void EnterPeriodOf(uint64_t time_ns);
  void CapturePage(uint64_t address, uint64_t time_ns);
  // True if other code than was known is there from that time on.
  bool CaptureCode(uint32_t module, RuntimeAddress address, uint64_t time_ns);
  CodeLocation Locate(uint64_t address);
  void FoldBranches();
  void AppendTable(CancelCheck* check);
  uint32_t SliceAt(uint64_t time_ns) {
    return slice_clock_.is_on() ? FindSlice(time_ns) : kNoSlice;
  }
  uint32_t FindSlice(uint64_t time_ns);
  void BoundSlices();
  void JoinSlices();
  void Identify(uint32_t module);
  uint32_t GeneratedModule(uint32_t generation);

  const pid_t pid_;
  const uint64_t slice_ns_;
  std::unique_ptr<CountedMemory> own_memory_;
  CountedMemory* const memory_;
  CountedMemory* const given_memory_;
  MemoryCharge charge_;
  MemoryCharge page_charge_;
  bool next_interval_is_charged_ = false;
  MemoryLosses dropped_;
  bool has_widened_slices_ = false;
  bool has_compacted_ = false;  // since this settling began
  SliceClock slice_clock_;
  ProfileData data_;
  std::vector<uint32_t> current_sources_;  // by the number that the backend gives them
  AddressSpace address_space_;
  GeneratedCode generated_code_;
  std::vector<std::string> jit_dumps_;
  std::vector<ModuleState> module_states_;  // one for each module, or one more
  std::map<std::tuple<std::string, uint64_t, uint64_t, std::vector<uint8_t>>, uint32_t> modules_;
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> threads_;
  std::pmr::map<uint32_t, std::pmr::string> names_ahead_;  // of threads without samples so far
  std::vector<uint32_t> ignored_threads_;                  // oldest first
  CopiedPages copied_pages_;
  bool has_generated_code_ = false;
  IpTable ip_table_;
  std::pmr::vector<IpSample> waiting_;
  uint64_t samples_ = 0;

  // Branches are counted by run-time address as long as an address means the same, and in one slice
  // of time: during [table_start_ns_, table_end_ns_), between two mappings that replaced another.
  // What was counted is then folded into branches_, whose first part is sorted.
  BurstQueue bursts_;
  BranchTable table_;  // of one source
  uint32_t table_source_ = 0;
  uint32_t table_slice_ = kNoSlice;
  std::vector<uint64_t> replacements_ns_;  // sorted, each once
  uint64_t table_start_ns_ = 0;
  uint64_t table_end_ns_ = slice_ns_ == 0 ? UINT64_MAX : 0;
  uint64_t table_last_ns_ = 0;  // of the latest burst in the table
  std::pmr::vector<BranchCount> branches_;
  size_t sorted_branches_ = 0;
  uint64_t burst_number_ = 0;
  std::vector<SourceState> source_states_;
  // Pages whose module was captured, by the low bits of their number.
  struct CapturedPage {
    uint64_t number = 0;  // 0: none
    bool is_generated = false;
  };
  std::vector<CapturedPage> captured_lately_;
};

}  // namespace hbbp

#endif  // HBBP_LIB_COLLECT_RECORDER_H_
