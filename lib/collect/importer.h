// Importer: turns samples of any processes, which somebody else recorded, into ProfileData.
//
// Recorder counts what happens in its own process and captures code while it is there; here
// processes come and go in a recording, and code is what files have.
#ifndef HBBP_LIB_COLLECT_IMPORTER_H_
#define HBBP_LIB_COLLECT_IMPORTER_H_

#include <cstdint>
#include <map>
#include <memory>
#include <memory_resource>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/counted_memory.h"
#include "base/work.h"
#include "collect/address_space.h"
#include "collect/branch_table.h"
#include "collect/generated_code.h"
#include "collect/ip_table.h"
#include "collect/memory_use.h"
#include "events/samples.h"
#include "profile/profile_data.h"

namespace hbbp {

struct ImportOptions {
  // Files of the recorded machine are below this folder here; empty: where they were there.
  std::string root;
  // Path of a file when it was recorded, or its last part -> the file here.
  std::map<std::string, std::string> files;
  // It is this machine, and its kernel the one that runs.
  bool is_this_machine = false;
  uint64_t slice_ns = 0;  // of time that counts are kept by; 0: they are not
};

// One thread at a time. What happened is told in the order of time, as far as it is known; times
// are of one clock, or all 0.
//
// Counts are in `memory`, what else may become large is charged to it. As that fills up, tables are
// folded and slices become wider; where it is used up, samples and mappings are dropped, and
// counted.
class Importer {
 public:
  static constexpr uint32_t kKernelPid = UINT32_MAX;

  // `memory` NULL: as much as there is.
  explicit Importer(ImportOptions options = {}, CountedMemory* memory = nullptr);

  // Returns its index.
  uint32_t AddSource(SourceRecord source);
  SourceRecord& source(uint32_t index) { return data_.sources[index]; }
  size_t source_count() const { return data_.sources.size(); }

  // Of `pid`, kKernelPid for what the kernel has.
  void AddMapping(uint32_t pid, const MappingEvent& mapping);
  // `child` has what `parent` has.
  void AddFork(uint32_t parent, uint32_t child);
  // A thread, of the same process or a new one, has the name of the one that made it.
  void AddThread(uint32_t parent, uint32_t parent_tid, uint32_t pid, uint32_t tid);
  // Code that `pid` generated, from this time on; `name` of a function, or empty. Without bytes
  // its samples are counted by address only.
  void AddCode(uint32_t pid, RuntimeAddress address, uint64_t size, std::span<const uint8_t> bytes,
               const std::string& name, uint64_t time_ns, CodeLines lines = {});
  // What `pid` had is gone: it has become another program, or has ended.
  void AddExec(uint32_t pid);
  void NameThread(uint32_t pid, uint32_t tid, const std::string& name);
  // Generated code of the kernel (BPF), which kallsyms and core files of later do not have.
  void AddKernelFunction(NamedRange function);
  void SetKernelRelease(const std::string& release);
  // For mappings of that path that have none. Padding of older headers is removed.
  void SetBuildId(const std::string& path, std::vector<uint8_t> build_id);

  // Where a file of the recorded machine is here.
  std::string LocalPath(const std::string& path) const;

  // Where the sample is; nothing if it is unmapped, or was dropped.
  struct SamplePlace {
    uint32_t thread, module;
    uint64_t offset;  // as IpCount::offset
  };
  std::optional<SamplePlace> AddSample(uint32_t source, const IpSample& sample);
  // Modules that are memory of a process and no file, with the process; without code that was told
  // of.
  std::vector<std::pair<uint32_t, uint32_t>> memory_modules() const;
  // Consecutive taken branches; one without a stream counts its branches only.
  // `weight` is that of each of its streams (StreamWeight; burst.period is not looked at),
  // `repeats` how often the same was seen.
  void AddBurst(uint32_t source, const BurstSample& burst, double weight, uint32_t repeats = 1);
  // Of mappings that were left out: a recording can ask for more memory than there is.
  uint64_t dropped_mappings() const { return dropped_mappings_; }
  // Of pieces of code that were counted by address only, because there were too many.
  uint64_t dropped_code() const { return dropped_code_; }

  // Repeats of a burst are as many samples. The counter "no-memory" has those of a source.
  const MemoryLosses& dropped() const { return dropped_; }
  CountedMemory* memory() const { return memory_; }
  // How often memory was given back that could be done without.
  uint64_t compactions() const { return compactions_; }
  bool has_widened_slices() const { return has_widened_slices_; }
  uint64_t slice_width_ns() const { return slice_clock_.slices().width_ns; }

  // All that was told so far, sorted. With `check`, throws WorkCancelled if it is called off.
  ProfileData Snapshot(CancelCheck* check = nullptr) const;
  // The same, but nothing may be added after.
  ProfileData Finish();

 private:
  struct CountedSpace {
    // Without memory for it, std::bad_alloc is thrown.
    explicit CountedSpace(CountedMemory* memory) : charge(memory) { charge.Add(kIntervalBytes); }
    CountedSpace(const CountedSpace& from, CountedMemory* memory) : CountedSpace(memory) {
      charge.Add(kIntervalBytes * from.addresses.intervals());
      addresses = from.addresses;
      counted = addresses.intervals();
    }

    AddressSpace addresses;
    uint64_t counted = 0;  // of intervals_, what it is the reason for
    MemoryCharge charge;
  };
  struct Process {
    // Shared with the parent until one of the two maps something.
    std::shared_ptr<CountedSpace> space;
    uint64_t newest_mapping_ns = 0;
  };
  // Where addresses of a process are, for samples that are newer than all of its mappings.
  struct Found {
    const Process* process = nullptr;
    uint64_t generation = 0;
    uint64_t start = 0;
    uint64_t bytes = 0;
    uint64_t distance = 0;  // of a place from its address
  };

  template <typename Body>
  void CountOrDrop(uint32_t source, uint64_t samples, Body&& count);
  template <typename Body>
  void MapOrDrop(Body&& map);
  void KeepMemory();
  void Compact();
  bool WidenSlices();
  Process& ProcessFor(uint32_t pid);
  // Nothing if there is no room for more.
  Process* ProcessToMapInto(uint32_t pid);
  void Map(const MappingEvent& mapping, uint32_t module, bool is_code_replaced, Process* process);
  void Forget(Process* process);
  uint32_t ModuleFor(uint32_t pid, const MappingEvent& mapping);
  uint32_t ThreadFor(uint32_t pid, uint32_t tid);
  void MapCode(uint32_t pid, const MappingEvent& mapping, std::span<const uint8_t> bytes,
               const std::string& name, CodeLines lines);
  uint64_t PlaceOf(const Process& process, uint64_t address, uint64_t time_ns);
  void CountBurst(uint32_t source, const BurstSample& burst, double weight, uint32_t repeats);
  uint32_t SliceAt(uint64_t time_ns);
  void BoundSlices();
  void JoinSlices();
  void FoldBranches(uint32_t source);
  void AddCountsTo(ProfileData* data, CancelCheck* check) const;

  const ImportOptions options_;
  const std::unique_ptr<CountedMemory> own_memory_;
  CountedMemory* const memory_;
  MemoryCharge charge_;
  MemoryLosses dropped_;
  uint64_t keep_above_;            // bytes that are used; less needs no thought
  uint64_t compact_again_at_ = 0;  // of dropped_.samples
  uint64_t compactions_ = 0;
  bool has_widened_slices_ = false;
  ProfileData data_;
  std::map<uint32_t, Process> processes_;
  uint64_t generation_ = 1;          // of what is mapped anywhere
  std::vector<Found> found_lately_;  // by page
  uint64_t intervals_ = 0;           // of all address spaces, at most
  uint64_t dropped_mappings_ = 0;
  uint64_t dropped_code_ = 0;
  std::map<std::tuple<ModuleKind, std::string, uint64_t, uint64_t, std::vector<uint8_t>>, uint32_t>
      modules_;
  std::vector<std::string> recorded_paths_;  // by module
  GeneratedCode generated_code_;
  std::map<std::string, std::vector<uint8_t>> build_ids_;
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> threads_;
  std::map<std::pair<uint32_t, uint32_t>, std::string> thread_names_;
  IpTable ip_table_;
  // Of places; with slices each has one, and what was counted in others is in branches_.
  struct SourceTable {
    explicit SourceTable(CountedMemory* memory) : table(memory) {}

    BranchTable table;
    uint32_t slice = kNoSlice;
    uint64_t dropped = 0;  // samples of the source
  };
  SliceClock slice_clock_;
  std::vector<SourceTable> branch_tables_;  // by source
  std::pmr::vector<BranchCount> branches_;  // the first part is sorted
  size_t sorted_branches_ = 0;
  std::vector<TakenBranchSample> placed_;
  uint64_t burst_number_ = 0;
};

}  // namespace hbbp

#endif  // HBBP_LIB_COLLECT_IMPORTER_H_
