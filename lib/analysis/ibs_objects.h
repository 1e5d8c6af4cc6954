// Adds up the accesses of IBS samples by data object.
#ifndef HBBP_LIB_ANALYSIS_IBS_OBJECTS_H_
#define HBBP_LIB_ANALYSIS_IBS_OBJECTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/resolved_modules.h"
#include "analysis/taken_branches.h"
#include "base/address.h"
#include "profile/profile_data.h"

namespace hbbp {

// The values are those of hbbp_ibs_object_kind; capi/ asserts it.
enum class IbsObjectKind : int32_t { kSymbol = 1, kSection = 2, kBlock = 3, kOther = 4 };

struct IbsObjectRecord {
  IbsObjectKind kind = IbsObjectKind::kOther;
  uint32_t module = kNoIndex;          // of a symbol or section
  std::string name;                    // "[unknown]": the file is not known
  ModuleAddress address = kNoAddress;  // of a symbol or section that is known
  uint64_t bytes = 0;
  IbsAccesses accesses;  // the numbers alone are of it
  uint32_t threads = 0;  // that accessed it
};

// Returns the objects by module, address and name: first those of modules, then the blocks that
// processes reported, then all other memory.
std::vector<IbsObjectRecord> ListIbsObjects(const ResolvedModules& modules);

}  // namespace hbbp

#endif  // HBBP_LIB_ANALYSIS_IBS_OBJECTS_H_
