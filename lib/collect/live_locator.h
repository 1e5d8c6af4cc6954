// LiveLocator finds the code of a process while it runs.
//
// Files are known from the maps of the process and from mappings that the kernel reports, and are
// held open from their first sample on. Code that is generated in memory is copied when something
// is counted there.
#ifndef HBBP_LIB_COLLECT_LIVE_LOCATOR_H_
#define HBBP_LIB_COLLECT_LIVE_LOCATOR_H_

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory_resource>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "base/counted_memory.h"
#include "base/status.h"
#include "collect/address_space.h"
#include "collect/copied_pages.h"
#include "collect/generated_code.h"
#include "collect/locator.h"
#include "collect/recent_locations.h"
#include "image/process_maps.h"

namespace hbbp {

// One thread at a time may use it. A call that throws std::bad_alloc has changed nothing.
class LiveLocator : public Locator {
 public:
  // Process 0 is the calling one.
  LiveLocator(pid_t pid, CountedMemory* memory);

  // Adds the current mappings as of `time_ns`; those of another process when something is counted
  // there, as it may be about to become another program.
  Status AddCurrentMappings(uint64_t time_ns);
  // Adds them at once, as something will be counted there.
  void KeepCurrentMappings() { AddWaitingMappings(); }
  // Forgets the mappings that were added, if nothing was counted there.
  void OnExec(uint32_t pid) override;
  // A mapping is dropped, and counted, if there is no memory for it.
  void OnMapping(MappingEvent mapping) override;
  uint64_t dropped_mappings() const { return dropped_mappings_; }

  // Adds code that the process has generated, which is there from this time on; `name` is that of a
  // function, or empty. The code that was there before keeps its samples. Returns false if it is
  // too much to keep; then its samples are counted with those of other generated code.
  bool AddCode(RuntimeAddress address, std::span<const uint8_t> bytes, const std::string& name,
               uint64_t time_ns);

  // Code without bytes is ignored: it is copied from memory, like code that is not reported.
  void OnCode(CodeEvent code) override;
  uint64_t code_beyond_limit() const { return code_beyond_limit_; }

  // Begins a round, in which copies of generated code are refreshed once.
  void BeginRound() { copied_pages_.BeginRound(); }

  // Returns the mapped files whose names are those of jitdumps, by rising time of their mapping.
  const std::vector<std::string>& jit_dumps() const { return jit_dumps_; }

  // Keeps the function, because kallsyms may not have it when the profile is saved.
  void OnKernelFunction(NamedRange function) override;

  // Keeps the name of a thread that nothing was counted for so far. The number of such names is
  // limited.
  void OnThreadName(uint32_t pid, uint32_t tid, const std::string& name) override;
  // Keeps the name that the thread has now, unless another one is known.
  void RecordThread(uint32_t tid);
  void DropThread(uint32_t tid) { thread_names_.erase(tid); }

  uint64_t FindLocation(uint32_t pid, RuntimeAddress address, uint64_t time_ns) override;
  void FindLocations(const BurstSample& burst, std::vector<TakenBranch>* locations) override;
  uint32_t kernel_module() const override { return kernel_module_; }
  std::string NameOfThread(uint32_t pid, uint32_t tid) override;
  const AddressSpace& SpaceOf(uint32_t pid) override;
  const ModuleRecord& module(uint32_t index) const override { return modules_[index]; }
  std::vector<ModuleRecord> Modules() const override;

 private:
  // State of a module in addition to its record.
  struct ModuleState {
    RuntimeAddress header;           // of file offset 0, when it was last mapped
    bool is_identified = false;      // its first sample was seen
    bool has_reported_code = false;  // its code was added by AddCode
  };

  // Out of line, since all samples come by.
  [[gnu::noinline]] void AddWaitingMappings();
  void ChargeNextInterval();
  void Map(MappingEvent mapping);
  void AddPlacement(const MappingEvent& mapping, const AddressSpace::Placement& placement,
                    const std::function<bool(const AddressSpace::Placement&)>& stays);
  uint64_t FindUserLocation(uint64_t address, uint64_t time_ns);
  bool IsCopied(uint32_t module) const;
  void CopyCode(RuntimeAddress address, uint64_t time_ns);
  void Identify(uint32_t module);
  uint32_t AddModule(ModuleRecord record);
  uint32_t ModuleFor(const MappingEvent& mapping);
  uint32_t SpecialModule(ModuleKind kind, const std::string& path);
  uint32_t GeneratedModule(uint32_t generation);
  uint32_t KernelModule();

  const pid_t pid_;
  MemoryCharge charge_;
  MemoryCharge page_charge_;
  bool next_interval_is_charged_ = false;
  uint64_t dropped_mappings_ = 0;
  uint64_t code_beyond_limit_ = 0;
  std::vector<Mapping> waiting_mappings_;  // as of waiting_since_ns_
  uint64_t waiting_since_ns_ = 0;
  AddressSpace address_space_;
  RecentLocations recent_locations_;
  GeneratedCode generated_code_;
  CopiedPages copied_pages_;
  std::vector<std::string> jit_dumps_;
  std::vector<ModuleRecord> modules_;
  std::vector<ModuleState> module_states_;  // one for each module, or one more
  std::map<std::tuple<std::string, uint64_t, uint64_t, std::vector<uint8_t>>, uint32_t>
      modules_by_file_;
  uint32_t kernel_module_ = kNoModule;
  std::pmr::map<uint32_t, std::pmr::string> thread_names_;
};

}  // namespace hbbp

#endif  // HBBP_LIB_COLLECT_LIVE_LOCATOR_H_
