// Makes the records of the functions that have counts, with the sums of their blocks.
#ifndef HBBP_LIB_ANALYSIS_FUNCTION_RECORDS_H_
#define HBBP_LIB_ANALYSIS_FUNCTION_RECORDS_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "analysis/resolved_module.h"
#include "base/address.h"
#include "blocks/block_map.h"
#include "estimate/block_counts.h"
#include "estimate/block_evidence.h"
#include "profile/profile_data.h"

namespace hbbp {

struct FunctionRecord {
  uint32_t module = 0;
  AddressRange range;
  std::string name;
  double instructions = 0;
  double standard_error = 0;
  uint64_t samples = 0;  // IP samples in it, and streams that entered it
};

// Returns the name of a function at the address, which has none if `name` is empty.
std::string NameOrAddress(std::string name, ModuleAddress address);

// Appends the functions of a module, whose blocks are those of `counts` from `first_block` on, and
// sets their functions. If the module has names for code that is missing, samples there count for
// functions too. `map` must be the one that the module was observed with.
void AddFunctions(const ProfileData& data, const ObservedModule& observed,
                  const ResolvedModule& module, BlockMap* map, size_t first_block,
                  BlockCounts* counts, std::vector<FunctionRecord>* functions);

// Returns the index of the function around an address, or kNoIndex. `functions` must be sorted by
// module and address.
uint32_t FindFunction(std::span<const FunctionRecord> functions, uint32_t module,
                      ModuleAddress address);

}  // namespace hbbp

#endif  // HBBP_LIB_ANALYSIS_FUNCTION_RECORDS_H_
