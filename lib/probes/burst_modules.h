// BurstModules numbers the modules of all profiles whose bursts are replayed one after the other: a
// module has the same number in each of them, wherever it is in their lists.
#ifndef HBBP_LIB_PROBES_BURST_MODULES_H_
#define HBBP_LIB_PROBES_BURST_MODULES_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "analysis/resolved_modules.h"

namespace hbbp {

class BurstModules {
 public:
  // Where a module is.
  struct Location {
    std::shared_ptr<const ResolvedModules> modules;  // of the last profile that has it
    uint32_t index = 0;                              // in that profile
  };

  // Makes a profile the current one, which numbers its modules.
  void Use(const std::shared_ptr<const ResolvedModules>& modules);

  // Returns the number of a module of the current profile, which must have it.
  uint32_t NumberOf(uint32_t index) const { return numbers_[index]; }
  uint32_t size() const { return static_cast<uint32_t>(locations_.size()); }
  const Location& Find(uint32_t number) const { return locations_[number]; }

 private:
  // A ModuleKey, and how many modules before it in its profile have the same one.
  using Key = std::pair<std::string, uint32_t>;

  std::vector<uint32_t> numbers_;  // by index in the current profile
  std::vector<Location> locations_;
  std::map<Key, uint32_t> known_;
};

}  // namespace hbbp

#endif  // HBBP_LIB_PROBES_BURST_MODULES_H_
