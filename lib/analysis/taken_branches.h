// Lists the taken branches of a profile, each once.
#ifndef HBBP_LIB_ANALYSIS_TAKEN_BRANCHES_H_
#define HBBP_LIB_ANALYSIS_TAKEN_BRANCHES_H_

#include <cstdint>
#include <vector>

#include "analysis/resolved_modules.h"
#include "base/address.h"
#include "estimate/block_record.h"
#include "estimate/branch_bias.h"
#include "profile/stream_sums.h"

namespace hbbp {

// This is an address whose module is unknown, or has no code by which to convert it.
inline constexpr ModuleAddress kNoAddress = {UINT64_MAX};

// A taken branch, by all threads and sources.
struct TakenBranchRecord {
  uint32_t from_module = kNoIndex;  // kNoIndex: in no known mapping
  uint32_t to_module = kNoIndex;
  ModuleAddress from = kNoAddress;
  ModuleAddress to = kNoAddress;
  uint64_t observed = 0;
  // Executions, on the scale of block counts. The last branch of a burst adds nothing, so that each
  // burst adds as much as its streams do.
  double count = 0;
  ReplicateSums replicates;  // of the count
  BranchBias bias;
};

// Returns the address for an offset of the profile, or kNoAddress if it is unknown.
ModuleAddress FindAddress(const ResolvedModules& modules, uint32_t module, uint64_t offset);

// Returns the branches by origin, then by target.
std::vector<TakenBranchRecord> ListTakenBranches(const ResolvedModules& modules,
                                                 double streams_scale);

}  // namespace hbbp

#endif  // HBBP_LIB_ANALYSIS_TAKEN_BRANCHES_H_
