#include "export/module_flow.h"

#include <map>
#include <utility>

namespace hbbp {

ModuleFlow FindModuleFlow(const Analysis& analysis, uint32_t module, const Work& work) {
  ModuleFlow flow;
  CancelCheck check(work.cancel);
  for (const BlockRecord& record : analysis.blocks()) {
    check.Step();
    if (record.module != module || !(record.estimate.count > 0)) continue;
    const std::vector<Instruction> instructions =
        analysis.modules().DecodeBlock(module, record.block);
    if (instructions.empty()) continue;
    flow.blocks.push_back({record.block.start,
                           {instructions.back().address},
                           record.block.end,
                           record.estimate.count,
                           record.fell_through.weights});
  }
  for (const TakenBranchRecord& branch : analysis.branches()) {
    check.Step();
    if (branch.from_module != module || branch.to_module != module) continue;
    if (branch.from == kNoAddress || branch.to == kNoAddress || !(branch.count > 0)) continue;
    flow.branches.push_back({branch.from, branch.to, branch.count});
  }
  return flow;
}

std::vector<FlowStream> FindModuleStreams(const Analysis& analysis, uint32_t module,
                                          const Work& work) {
  std::map<std::pair<uint64_t, uint64_t>, double> counts;  // by offsets of the profile
  CancelCheck check(work.cancel);
  for (const BranchCount& branch : analysis.data().branches) {
    check.Step();
    if (branch.to_module != module || !branch.HasStream()) continue;
    if (branch.stream_end == kStreamLeavesModule || branch.stream_end < branch.to) continue;
    counts[{branch.to, branch.stream_end}] += branch.weights * analysis.family_scales().streams;
  }
  std::vector<FlowStream> streams;
  for (const auto& [offsets, count] : counts) {
    const ModuleAddress start = FindAddress(analysis.modules(), module, offsets.first);
    const ModuleAddress end = FindAddress(analysis.modules(), module, offsets.second);
    if (start != kNoAddress && end != kNoAddress) streams.push_back({start, end, count});
  }
  return streams;
}

}  // namespace hbbp
