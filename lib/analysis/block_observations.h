// What all sources observed of the blocks of one module.
#ifndef HBBP_LIB_ANALYSIS_BLOCK_OBSERVATIONS_H_
#define HBBP_LIB_ANALYSIS_BLOCK_OBSERVATIONS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "analysis/module_resolver.h"
#include "base/address.h"
#include "base/work.h"
#include "blocks/block_map.h"
#include "estimate/branch_bias.h"
#include "estimate/stream_estimator.h"
#include "profile/profile_data.h"

namespace hbbp {

// Why an IP sample is in no block, or a stream crosses none.
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

// "no-code"; stable, used in JSON.
const char* NameOf(UnexplainedReason reason);

using UnexplainedCounts = std::array<uint64_t, static_cast<size_t>(UnexplainedReason::kCount)>;

// [first, end) of a list of ProfileData, the part that belongs to a module.
struct IndexRange {
  size_t first = 0;
  size_t end = 0;

  bool empty() const { return first == end; }
};

// Whose streams: of all that cross a block.
struct StreamOrigin {
  uint32_t source = 0;
  uint32_t thread = 0;
  uint32_t slice = kNoSlice;

  auto operator<=>(const StreamOrigin&) const = default;
};

struct ObservedBlock {
  Block block;
  std::vector<size_t> counts;  // indices of IP samples in it
  std::map<StreamOrigin, StreamSums> streams;
  StreamSums fell_through;  // streams that went on into the block behind it
  StreamSums all_streams;   // of all sources and threads
  // Streams that came to its function here: by a branch, or from the block before it.
  uint64_t streams_into_function = 0;
  BranchBias bias;  // of the branches in it
};

struct BlockObservations {
  std::map<ModuleAddress, ObservedBlock> blocks;  // by their starts
  bool has_samples = false;                       // of IPs, that are in a block
  bool has_streams = false;                       // that were explained
  // Of ProfileData::branches: those that such streams begin with.
  std::vector<IndexRange> explained_branches;
};

// `unexplained` is by source; what is in no block is added there. `map` is null without code.
// `meter` advances by two steps for each count and each stream; if it ends the work, the outcome is
// of no use.
BlockObservations ObserveBlocks(const ProfileData& data, IndexRange counts, IndexRange branches,
                                const ResolvedModule& module, BlockMap* map,
                                std::vector<UnexplainedCounts>* unexplained,
                                WorkMeter* meter = nullptr);

}  // namespace hbbp

#endif  // HBBP_LIB_ANALYSIS_BLOCK_OBSERVATIONS_H_
