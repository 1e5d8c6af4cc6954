// Defines the count of a block, and what each thread and source contributes to it.
#ifndef HBBP_LIB_ESTIMATE_BLOCK_RECORD_H_
#define HBBP_LIB_ESTIMATE_BLOCK_RECORD_H_

#include <cstdint>

#include "blocks/block_map.h"
#include "estimate/branch_bias.h"
#include "estimate/count_estimate.h"
#include "events/samples.h"
#include "profile/profile_data.h"
#include "profile/stream_sums.h"

namespace hbbp {

inline constexpr uint32_t kNoIndex = UINT32_MAX;

// The counts of a block by each family of sources, on one scale.
struct FamilyCounts {
  CountEstimate ebs;
  CountEstimate streams;
  double taken_ratio = 0;  // see Feature::kTakenRatio
};

struct BlockRecord {
  uint32_t module = 0;
  uint32_t function = kNoIndex;
  Block block;
  SourceKind source = SourceKind::kNone;
  CountEstimate estimate;
  // Observations by the source: IP samples in the block, or streams across it.
  uint64_t samples = 0;
  ReplicateSums replicates;  // of the count, if HasReplicates(source); see stream_estimator.h
  StreamSums fell_through;   // streams that continued into the block after it
  BranchBias bias;           // of the branches in it
  FamilyCounts families;
};

// Says what one thread adds to the count of a block, by one source of IP samples.
struct Contribution {
  uint32_t block = kNoIndex;  // kNoIndex: unexplained, or another source counts the block
  uint32_t thread = 0;
  uint32_t source = 0;
  uint32_t function = kNoIndex;  // of unexplained samples, if it is known
  uint64_t samples = 0;
  double period_sum = 0;
  double period_squares = 0;
  uint32_t slice = kNoSlice;
};

// Says what one thread adds by one source of streams, or its part of a count by several sources.
struct StreamContribution {
  uint32_t block = kNoIndex;
  uint32_t thread = 0;
  uint32_t source = 0;
  StreamSums sums;
  uint32_t slice = kNoSlice;
};

}  // namespace hbbp

#endif  // HBBP_LIB_ESTIMATE_BLOCK_RECORD_H_
