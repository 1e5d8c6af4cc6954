// Collects what all sources observed of the blocks of one module.
#ifndef HBBP_LIB_ANALYSIS_BLOCK_OBSERVATIONS_H_
#define HBBP_LIB_ANALYSIS_BLOCK_OBSERVATIONS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "analysis/module_resolver.h"
#include "base/work.h"
#include "blocks/block_map.h"
#include "estimate/block_evidence.h"
#include "profile/profile_data.h"

namespace hbbp {

// The reasons why an IP sample is in no block, or a stream crosses none.
enum class UnexplainedReason : uint8_t {
  kNoCode,
  kUndecodable,
  kLeavesModule,
  kBackwards,
  kPassesBranch,
  kNotABranch,
  kTooLong,
  kCount
};

// Returns whether control that reaches the end of a block may go on behind it without a taken
// branch. It does not behind calls, because the callee returns by one.
bool RunsOn(BranchKind kind);

// Returns a name such as "no-code", which is stable and used in JSON.
const char* NameOf(UnexplainedReason reason);

using UnexplainedCounts = std::array<uint64_t, static_cast<size_t>(UnexplainedReason::kCount)>;

// Adds what is in no block to `unexplained`, by source. `map` is null without code. `meter`
// advances by two steps for each count and each stream; if it ends the work, the result is
// incomplete and must not be used.
BlockObservations ObserveBlocks(const ProfileData& data, IndexRange counts, IndexRange branches,
                                const ResolvedModule& module, BlockMap* map,
                                std::vector<UnexplainedCounts>* unexplained,
                                WorkMeter* meter = nullptr);

}  // namespace hbbp

#endif  // HBBP_LIB_ANALYSIS_BLOCK_OBSERVATIONS_H_
