// Analysis: what Analyze() found in a profile, as a value: the blocks and functions that its
// samples fell in and that its streams crossed, with their counts, and the branches that were
// taken.
//
// Nothing in it changes, so any thread may read it. What is asked of code reads on in its files
// (resolved_modules.h); loops (profile_loops.h), descriptions of instructions (described_code.h)
// and lines (line_table_cache.h) are made of it by those that want them.
#ifndef HBBP_LIB_ANALYSIS_ANALYSIS_H_
#define HBBP_LIB_ANALYSIS_ANALYSIS_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "analysis/block_observations.h"
#include "analysis/function_records.h"
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
  // By module, of those that were observed; null for the others.
  using BlockMaps = std::vector<std::unique_ptr<BlockMap>>;

  struct Parts {
    std::shared_ptr<const ResolvedModules> modules;
    BlockMaps maps;
    SampleTotals totals;
    std::vector<UnexplainedCounts> unexplained;  // by source
    ChosenEstimator estimator;
    double mean_count = 0;
    BlockCounts counts;
    std::vector<FunctionRecord> functions;
    std::vector<TakenBranchRecord> branches;
    std::vector<IbsSumRecord> ibs_sums;
  };
  explicit Analysis(Parts parts);

  const ProfileData& data() const { return parts_.modules->data(); }
  const ResolvedModules& modules() const { return *parts_.modules; }
  const std::shared_ptr<const ResolvedModules>& shared_modules() const { return parts_.modules; }
  const SampleTotals& totals() const { return parts_.totals; }

  // IP samples in no block, streams that no path through the code explains.
  uint64_t UnexplainedOfSource(uint32_t source) const;
  const UnexplainedCounts& UnexplainedByReason(uint32_t source) const {
    return parts_.unexplained[source];
  }
  // IP samples in code that another source counts.
  uint64_t SupersededOfSource(uint32_t source) const { return parts_.counts.superseded[source]; }
  // Never kAuto.
  EstimatorKind estimator() const { return parts_.estimator.kind; }
  const FamilyScales& family_scales() const { return parts_.estimator.scales; }

  const std::vector<BlockRecord>& blocks() const { return parts_.counts.blocks; }
  const std::vector<FunctionRecord>& functions() const { return parts_.functions; }
  // By index of data().counts.
  const std::vector<Contribution>& contributions() const { return parts_.counts.contributions; }
  const std::vector<StreamContribution>& stream_contributions() const {
    return parts_.counts.stream_contributions;
  }
  const std::vector<TakenBranchRecord>& branches() const { return parts_.branches; }
  const std::vector<IbsSumRecord>& ibs_sums() const { return parts_.ibs_sums; }

  // kNotFound: no such module, or no code there.
  StatusOr<BlockRecord> FindBlock(uint32_t module, ModuleAddress address) const;
  // All blocks of the function (or part) around an address, and the jump tables that it uses; empty
  // where there is no code.
  std::vector<Block> FunctionBlocks(uint32_t module, ModuleAddress address) const;
  std::vector<ReadJumpTable> JumpTables(uint32_t module, ModuleAddress address) const;
  // Of a block of blocks().
  BlockFeatures FeaturesOf(const BlockRecord& record) const;
  // Of a kernel: bytes of the functions with samples in which memory differed from vmlinux.
  uint64_t PatchedBytesOf(uint32_t module) const;

 private:
  template <typename Answer>
  Answer AskMap(uint32_t module, Answer (BlockMap::*question)(ModuleAddress),
                ModuleAddress address) const;

  Parts parts_;
};

}  // namespace hbbp

#endif  // HBBP_LIB_ANALYSIS_ANALYSIS_H_
