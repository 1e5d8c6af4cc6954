// CountedProcess counts how often a process executed each instruction of each module.
#ifndef HBBP_TOOLS_COUNT_COUNTED_PROCESS_H_
#define HBBP_TOOLS_COUNT_COUNTED_PROCESS_H_

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "count/address_table.h"
#include "count/counted_modules.h"
#include "count/executable_mappings.h"
#include "count/stepper.h"

namespace hbbp::tools {

class CountedProcess : public SteppedProcess {
 public:
  using Counts = std::unordered_map<uint64_t, uint64_t>;  // by address in the module
  // Called at the end of a process that executed something.
  using EndedFunction = std::function<Status(const CountedProcess&)>;

  CountedProcess(pid_t pid, CountedModules* modules, EndedFunction ended)
      : pid_(pid), modules_(modules), ended_(std::move(ended)), mappings_(pid, modules) {}

  pid_t pid() const { return pid_; }

  InstructionKind Before(pid_t, uint64_t address) override;
  void Completed(pid_t, uint64_t address, uint64_t) override { ++EntryAt(address)->count; }
  // Counts of removed code are kept.
  void ThreadEnded(pid_t) override {}
  void Unmap(uint64_t start, uint64_t size) override;
  void UnmapAll() override;
  void Executed() override { UnmapAll(); }
  Status Ended() override;

  // Valid at the end of the process.
  const std::map<const CountedModule*, Counts>& counts() const { return counts_; }
  uint64_t Total() const;

 private:
  AddressTable::Entry* EntryAt(uint64_t address);
  AddressTable::Entry* AddEntry(uint64_t address);
  InstructionKind ReadKind(uint64_t address) const;
  std::optional<uint32_t> FindMapping(uint64_t address);

  pid_t pid_;
  CountedModules* modules_;
  EndedFunction ended_;
  AddressTable table_;
  // They are read again when an address is in none of them.
  ExecutableMappings mappings_;
  std::map<const CountedModule*, Counts> counts_;
};

}  // namespace hbbp::tools

#endif  // HBBP_TOOLS_COUNT_COUNTED_PROCESS_H_
