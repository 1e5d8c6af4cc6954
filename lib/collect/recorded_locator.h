// RecordedLocator: the code of processes in a recording, which somebody else made.
#ifndef HBBP_LIB_COLLECT_RECORDED_LOCATOR_H_
#define HBBP_LIB_COLLECT_RECORDED_LOCATOR_H_

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/counted_memory.h"
#include "collect/address_space.h"
#include "collect/generated_code.h"
#include "collect/locator.h"
#include "collect/memory_use.h"
#include "collect/recent_locations.h"

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

// One thread at a time. Events come in the order of time, as far as it is known; times are of one
// clock, or all 0. What there is no memory for is dropped, and counted.
class RecordedLocator : public Locator {
 public:
  RecordedLocator(ImportOptions options, CountedMemory* memory);

  void OnMapping(MappingEvent mapping) override;
  // The child has what the parent has.
  void OnFork(const ForkEvent& fork) override;
  void OnCode(CodeEvent code) override;
  // What `pid` had is gone.
  void OnExec(uint32_t pid) override;
  void OnExit(uint32_t pid) override { OnExec(pid); }
  void OnThreadName(uint32_t pid, uint32_t tid, const std::string& name) override;
  // kallsyms and core files of later do not have it.
  void OnKernelFunction(NamedRange function) override;
  void SetKernelRelease(const std::string& release);
  // Padding of older headers is removed.
  void OnBuildId(const std::string& path, std::vector<uint8_t> build_id) override;

  // Where a file of the recorded machine is here.
  std::string LocalPath(const std::string& path) const;
  // Modules that are memory of a process and no file, with the process; without code that was told
  // of.
  std::vector<std::pair<uint32_t, uint32_t>> memory_modules() const;

  // For want of memory.
  uint64_t dropped_mappings() const { return dropped_mappings_; }
  // A recording can ask for more than there is of anything: mappings that were left out, and pieces
  // of code that were counted by address only.
  uint64_t mappings_beyond_limit() const { return mappings_beyond_limit_; }
  uint64_t code_beyond_limit() const { return code_beyond_limit_; }

  uint64_t FindLocation(uint32_t pid, RuntimeAddress address, uint64_t time_ns) override;
  void FindLocations(const BurstSample& burst, std::vector<TakenBranch>* places) override;
  uint32_t kernel_module() const override { return 0; }
  std::string NameOfThread(uint32_t pid, uint32_t tid) override { return KnownName(pid, tid); }
  std::string InheritedName(const ForkEvent& fork) const override {
    return KnownName(fork.parent_pid, fork.parent_tid);
  }
  std::vector<ModuleRecord> Modules() const override;

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
  };

  template <typename Body>
  void MapOrDrop(Body&& map);
  Process& ProcessFor(uint32_t pid);
  // Nothing if there is no room for more.
  Process* ProcessToMapInto(uint32_t pid);
  void Map(const MappingEvent& mapping, uint32_t module, bool is_code_replaced, Process* process);
  void MapCode(CodeEvent code);
  void Clear(Process* process);
  uint32_t ModuleFor(const MappingEvent& mapping);
  std::string KnownName(uint32_t pid, uint32_t tid) const;
  uint64_t FindLocationIn(const AddressSpace& space, RuntimeAddress address, uint64_t time_ns);

  const ImportOptions options_;
  CountedMemory* const memory_;
  MemoryCharge charge_;
  std::vector<ModuleRecord> modules_;
  std::vector<std::string> recorded_paths_;  // by module
  std::map<std::tuple<ModuleKind, std::string, uint64_t, uint64_t, std::vector<uint8_t>>, uint32_t>
      modules_by_file_;
  std::map<std::string, std::vector<uint8_t>> build_ids_;
  std::map<uint32_t, Process> processes_;
  RecentLocations recent_locations_;
  GeneratedCode generated_code_;
  std::map<std::pair<uint32_t, uint32_t>, std::string> thread_names_;
  uint64_t intervals_ = 0;  // of all address spaces, at most
  uint64_t dropped_mappings_ = 0;
  uint64_t mappings_beyond_limit_ = 0;
  uint64_t code_beyond_limit_ = 0;
};

}  // namespace hbbp

#endif  // HBBP_LIB_COLLECT_RECORDED_LOCATOR_H_
