#include "export/module_flow.h"

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

}  // namespace hbbp
