// Counts the blocks of a profile, a module at a time: each block is counted by one family of
// sources (family_choice.h), or all are counted by both, under conservation of flow (flow_graph.h).
#ifndef HBBP_LIB_ESTIMATE_BLOCK_COUNTS_H_
#define HBBP_LIB_ESTIMATE_BLOCK_COUNTS_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "base/address.h"
#include "base/work.h"
#include "blocks/block_map.h"
#include "estimate/block_evidence.h"
#include "estimate/block_record.h"
#include "estimate/decision_tree.h"
#include "estimate/family_counts.h"
#include "estimate/flow_graph.h"
#include "image/module_code.h"
#include "profile/profile_data.h"

namespace hbbp {

struct BlockCounts {
  std::vector<BlockRecord> blocks;          // by module and address; without functions yet
  std::vector<Contribution> contributions;  // from ProfileData::counts, on the scale of the counts
  std::vector<StreamContribution> stream_contributions;
  std::vector<uint64_t> superseded;  // by source: IP samples in code that another source counts
};

// The method by which the blocks of all modules of a profile are counted.
struct CountingMethod {
  ChosenEstimator estimator;
  const DecisionTree& tree;  // for EstimatorKind::kTree
  double mean_count = 0;     // see MeanCount
  FlowErrors flow_errors;    // for EstimatorKind::kFlow
};

struct ModuleEvidence {
  const ProfileData& data;
  const ObservedModule& observed;
  const ModuleCode* code = nullptr;  // null if missing; then no block was observed
  BlockMap* map = nullptr;           // of the observations; null as `code` is
  // Returns the address for an offset of `data`.
  std::function<std::optional<ModuleAddress>(uint64_t offset)> address_of;
};

// Appends the blocks of a module, and what contributes to them. `meter` advances by a step for each
// block; if it ends the work, `counts` is incomplete and must not be used.
void CountBlocks(const ModuleEvidence& evidence, const CountingMethod& method, WorkMeter* meter,
                 BlockCounts* counts);

}  // namespace hbbp

#endif  // HBBP_LIB_ESTIMATE_BLOCK_COUNTS_H_
