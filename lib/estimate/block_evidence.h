// BlockEvidence is what all sources observed of the blocks of a profile, before one is chosen.
#ifndef HBBP_LIB_ESTIMATE_BLOCK_EVIDENCE_H_
#define HBBP_LIB_ESTIMATE_BLOCK_EVIDENCE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "base/address.h"
#include "blocks/block_map.h"
#include "estimate/branch_bias.h"
#include "profile/profile_data.h"
#include "profile/stream_sums.h"

namespace hbbp {

// The part [first, end) of a list of ProfileData that belongs to a module.
struct IndexRange {
  size_t first = 0;
  size_t end = 0;

  bool empty() const { return first == end; }
};

// The origin of some of the streams that cross a block.
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
  StreamSums fell_through;  // streams that continued into the block after it
  StreamSums all_streams;   // from all sources and threads
  // The streams that entered its function here, by a branch or from the block before it.
  uint64_t streams_into_function = 0;
  BranchBias bias;  // of the branches in it
};

struct BlockObservations {
  std::map<ModuleAddress, ObservedBlock> blocks;  // by start
  bool has_samples = false;                       // IP samples that are in a block
  bool has_streams = false;                       // streams that were explained
  // The branches of ProfileData::branches with which explained streams begin.
  std::vector<IndexRange> explained_branches;
};

// A module with samples, and what they observed of its blocks.
struct ObservedModule {
  uint32_t module = 0;
  IndexRange counts;
  BlockObservations observations;
};

}  // namespace hbbp

#endif  // HBBP_LIB_ESTIMATE_BLOCK_EVIDENCE_H_
