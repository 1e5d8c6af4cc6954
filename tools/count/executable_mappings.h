// ExecutableMappings finds the executable mapping of a process that contains an address.
#ifndef HBBP_TOOLS_COUNT_EXECUTABLE_MAPPINGS_H_
#define HBBP_TOOLS_COUNT_EXECUTABLE_MAPPINGS_H_

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "count/counted_modules.h"
#include "image/process_maps.h"

namespace hbbp::tools {

struct MappedModule {
  Mapping mapping;
  const CountedModule* module = nullptr;  // null until something in it is executed
};

class ExecutableMappings {
 public:
  ExecutableMappings(pid_t pid, CountedModules* modules) : pid_(pid), modules_(modules) {}

  // Returns the index of the mapping, whose module is then known.
  std::optional<uint32_t> Find(uint64_t address);
  // Reads the mappings anew, and calls `before_change` before indices that were found are void. If
  // they cannot be read, as of a process that has ended, the old ones stay.
  void Read(const std::function<void()>& before_change = [] {});
  void Clear() { mappings_.clear(); }
  bool Overlap(uint64_t start, uint64_t size) const;

  const MappedModule& operator[](size_t index) const { return mappings_[index]; }

 private:
  pid_t pid_;
  CountedModules* modules_;
  std::vector<MappedModule> mappings_;  // by address
};

}  // namespace hbbp::tools

#endif  // HBBP_TOOLS_COUNT_EXECUTABLE_MAPPINGS_H_
