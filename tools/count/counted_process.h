// CountedProcess counts how often a process executed each instruction of each module.
#ifndef HBBP_TOOLS_COUNT_COUNTED_PROCESS_H_
#define HBBP_TOOLS_COUNT_COUNTED_PROCESS_H_

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "count/address_table.h"
#include "count/counted_modules.h"

namespace hbbp::tools {

class CountedProcess {
 public:
  using Counts = std::unordered_map<uint64_t, uint64_t>;  // by address in the module

  CountedProcess(pid_t pid, CountedModules* modules) : pid_(pid), modules_(modules) {}

  pid_t pid() const { return pid_; }

  // Call it before the instruction at `address` is executed.
  InstructionKind KindAt(uint64_t address);

  // Call it after the instruction was executed.
  void Count(uint64_t address) { ++EntryAt(address)->count; }

  // Call it before the mappings in [start, start + size) are removed. Counts of their code are
  // kept.
  void Unmap(uint64_t start, uint64_t size);

  // Call it before all mappings are removed: exec, exit.
  void UnmapAll();

  // Valid after UnmapAll.
  const std::map<const CountedModule*, Counts>& counts() const { return counts_; }
  uint64_t Total() const;

 private:
  struct MappedModule {
    Mapping mapping;
    const CountedModule* module;  // null until something in it is executed
  };

  AddressTable::Entry* EntryAt(uint64_t address);
  AddressTable::Entry* AddEntry(uint64_t address);
  InstructionKind ReadKind(uint64_t address) const;
  std::optional<uint32_t> MappingAt(uint64_t address);

  pid_t pid_;
  CountedModules* modules_;
  AddressTable table_;
  // These are the mappings of executable memory. They are read again when an address is in none of
  // them.
  std::vector<MappedModule> mappings_;
  std::map<const CountedModule*, Counts> counts_;
};

}  // namespace hbbp::tools

#endif  // HBBP_TOOLS_COUNT_COUNTED_PROCESS_H_
