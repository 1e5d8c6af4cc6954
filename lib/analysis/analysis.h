// Analysis is the result of Analyze() for a profile: the blocks and functions that its samples fell
// in and that its streams crossed, with their counts, and the branches that were taken.
//
// It is a value that never changes, so any thread may read it. Functions that need code read its
// files on demand (resolved_modules.h); loops (profile_loops.h), instruction tables
// (instruction_table.h) and lines (line_table_cache.h) are made from it by callers that need them.
#ifndef HBBP_LIB_ANALYSIS_ANALYSIS_H_
#define HBBP_LIB_ANALYSIS_ANALYSIS_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "analysis/block_observations.h"
#include "analysis/function_records.h"
#include "analysis/ibs_objects.h"
#include "analysis/ibs_sums.h"
#include "analysis/resolved_modules.h"
#include "analysis/taken_branches.h"
#include "base/status.h"
#include "blocks/block_map.h"
#include "estimate/block_counts.h"
#include "estimate/block_features.h"
#include "estimate/block_record.h"
#include "estimate/family_counts.h"
#include "profile/profile_data.h"
#include "profile/sample_totals.h"

namespace hbbp {

class Analysis {
 public:
  // The maps are by module; null for those that were not observed.
  using BlockMaps = std::vector<std::unique_ptr<BlockMap>>;

  struct Parts {
    std::shared_ptr<const ResolvedModules> modules;
    BlockMaps maps;
    SampleTotals totals;
    std::vector<bool> is_counted;                // by source
    std::vector<UnexplainedCounts> unexplained;  // by source
    ChosenEstimator estimator;
    double mean_count = 0;
    BlockCounts counts;
    std::vector<FunctionRecord> functions;
    std::vector<TakenBranchRecord> branches;
    std::vector<IbsSumRecord> ibs_sums;
    std::vector<IbsLatencyRecord> ibs_latencies;
    std::vector<IbsObjectRecord> ibs_objects;
  };
  explicit Analysis(Parts parts);

  // Returns the data with the counts of the sources that count.
  const ProfileData& data() const { return parts_.modules->data(); }
  const ResolvedModules& modules() const { return *parts_.modules; }
  const std::shared_ptr<const ResolvedModules>& shared_modules() const { return parts_.modules; }
  const SampleTotals& totals() const { return parts_.totals; }

  // Returns the IP samples in no block, and the streams that no path through the code explains.
  uint64_t UnexplainedOfSource(uint32_t source) const;
  const UnexplainedCounts& UnexplainedByReason(uint32_t source) const {
    return parts_.unexplained[source];
  }
  // Returns whether blocks are counted by the event of the source.
  bool IsCounted(uint32_t source) const { return parts_.is_counted[source]; }
  // Returns the IP samples in code that another source counts.
  uint64_t SupersededOfSource(uint32_t source) const { return parts_.counts.superseded[source]; }
  // Never returns kAuto.
  EstimatorKind estimator() const { return parts_.estimator.kind; }
  const FamilyScales& family_scales() const { return parts_.estimator.scales; }

  const std::vector<BlockRecord>& blocks() const { return parts_.counts.blocks; }
  const std::vector<FunctionRecord>& functions() const { return parts_.functions; }
  // Returns one for each of data().counts, with the same index.
  const std::vector<Contribution>& contributions() const { return parts_.counts.contributions; }
  const std::vector<StreamContribution>& stream_contributions() const {
    return parts_.counts.stream_contributions;
  }
  const std::vector<TakenBranchRecord>& branches() const { return parts_.branches; }
  const std::vector<IbsSumRecord>& ibs_sums() const { return parts_.ibs_sums; }
  const std::vector<IbsLatencyRecord>& ibs_latencies() const { return parts_.ibs_latencies; }
  const std::vector<IbsObjectRecord>& ibs_objects() const { return parts_.ibs_objects; }

  // Returns kNotFound if there is no such module, or no code there.
  StatusOr<BlockRecord> FindBlock(uint32_t module, ModuleAddress address) const;
  // Return all blocks of the function (or part) around an address, and the jump tables that it
  // uses, or nothing where there is no code.
  std::vector<Block> FunctionBlocks(uint32_t module, ModuleAddress address) const;
  std::vector<ReadJumpTable> JumpTables(uint32_t module, ModuleAddress address) const;
  // `record` must be one of blocks().
  BlockFeatures FeaturesOf(const BlockRecord& record) const;
  // For a kernel: counts the bytes of the functions with samples in which memory differed from
  // vmlinux.
  uint64_t PatchedBytesOf(uint32_t module) const;

 private:
  template <typename Answer>
  Answer AskMap(uint32_t module, Answer (BlockMap::*question)(ModuleAddress),
                ModuleAddress address) const;

  Parts parts_;
};

}  // namespace hbbp

#endif  // HBBP_LIB_ANALYSIS_ANALYSIS_H_
