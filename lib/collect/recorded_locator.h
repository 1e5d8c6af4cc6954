// RecordedLocator finds the code of the processes in a recording that another program made.
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
#include "collect/import_options.h"
#include "collect/locator.h"
#include "collect/memory_use.h"
#include "collect/recent_locations.h"

namespace hbbp {

// One thread at a time may use it. Events come in the order of time, as far as it is known; times
// are of one clock, or all 0. Mappings that there is no memory for are dropped, and counted as
// such.
class RecordedLocator : public Locator {
 public:
  RecordedLocator(ImportOptions options, CountedMemory* memory);

  void OnMapping(MappingEvent mapping) override;
  // The child has the mappings of the parent.
  void OnFork(const ForkEvent& fork) override;
  void OnCode(CodeEvent code) override;
  // Drops the mappings of `pid`.
  void OnExec(uint32_t pid) override;
  void OnExit(uint32_t pid) override { OnExec(pid); }
  void OnThreadName(uint32_t pid, uint32_t tid, const std::string& name) override;
  // Keeps the function, because later kallsyms and core files may not have it.
  void OnKernelFunction(NamedRange function) override;
  void SetKernelRelease(const std::string& release);
  // Padding of older headers is removed.
  void OnBuildId(const std::string& path, std::vector<uint8_t> build_id) override;

  // Returns the path here of a file of the recorded machine.
  std::string LocalPath(const std::string& path) const { return hbbp::LocalPath(options_, path); }
  // Returns the paths that modules had on the recorded machine.
  const std::vector<std::string>& recorded_paths() const { return recorded_paths_; }
  // Returns the modules for memory of a process that is not of a file, each with the pid. Modules
  // of reported code are not among them.
  std::vector<std::pair<uint32_t, uint32_t>> memory_modules() const;

  // Returns the number of mappings that were dropped for want of memory.
  uint64_t dropped_mappings() const { return dropped_mappings_; }
  // There are limits because a recording can have any content. These return the number of mappings
  // that were dropped, and of pieces of code whose samples are counted by address only.
  uint64_t mappings_beyond_limit() const { return mappings_beyond_limit_; }
  uint64_t code_beyond_limit() const { return code_beyond_limit_; }

  uint64_t FindLocation(uint32_t pid, RuntimeAddress address, uint64_t time_ns) override;
  void FindLocations(const BurstSample& burst, std::vector<TakenBranch>* locations) override;
  uint32_t kernel_module() const override { return 0; }
  std::string NameOfThread(uint32_t pid, uint32_t tid) override { return KnownName(pid, tid); }
  std::string InheritedName(const ForkEvent& fork) const override {
    return KnownName(fork.parent_pid, fork.parent_tid);
  }
  const AddressSpace& SpaceOf(uint32_t pid) override { return ProcessFor(pid).space->addresses; }
  const ModuleRecord& module(uint32_t index) const override { return modules_[index]; }
  std::vector<ModuleRecord> Modules() const override;

 private:
  struct CountedSpace {
    // Both throw std::bad_alloc without memory for the space.
    explicit CountedSpace(CountedMemory* memory) : charge(memory) { charge.Add(kIntervalBytes); }
    CountedSpace(const CountedSpace& from, CountedMemory* memory) : CountedSpace(memory) {
      charge.Add(kIntervalBytes * from.addresses.intervals());
      addresses = from.addresses;
      counted = addresses.intervals();
    }

    AddressSpace addresses;
    uint64_t counted = 0;  // its part of intervals_
    MemoryCharge charge;
  };
  struct Process {
    // Shared with the parent until one of the two maps something.
    std::shared_ptr<CountedSpace> space;
  };

  template <typename Body>
  void MapOrDrop(Body&& map);
  Process& ProcessFor(uint32_t pid);
  // Returns the process with an address space of its own, or nullptr if there are too many
  // intervals.
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
  uint64_t intervals_ = 0;  // upper bound of the intervals of all address spaces
  uint64_t dropped_mappings_ = 0;
  uint64_t mappings_beyond_limit_ = 0;
  uint64_t code_beyond_limit_ = 0;
};

}  // namespace hbbp

#endif  // HBBP_LIB_COLLECT_RECORDED_LOCATOR_H_
