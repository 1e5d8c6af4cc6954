#include "export/module_flow.h"

namespace hbbp {

std::vector<FlowBlock> FindBlocks(const ExportSubject& subject) {
  const Analysis& analysis = subject.analysis;
  CancelCheck check(subject.work.cancel);
  std::vector<FlowBlock> blocks;
  for (const BlockRecord& record : analysis.blocks()) {
    check.Step();
    if (record.module != subject.module || !(record.estimate.count > 0)) continue;
    const std::vector<Instruction> instructions =
        analysis.modules().DecodeBlock(record.module, record.block);
    if (instructions.empty()) continue;
    blocks.push_back({record.block.start, {instructions.back().address}, record.estimate.count});
  }
  return blocks;
}

std::vector<FlowBranch> FindBranches(const ExportSubject& subject) {
  CancelCheck check(subject.work.cancel);
  std::vector<FlowBranch> branches;
  for (const TakenBranchRecord& branch : subject.analysis.branches()) {
    check.Step();
    if (branch.from_module != subject.module || branch.to_module != subject.module) continue;
    if (branch.from == kNoAddress || branch.to == kNoAddress || !(branch.count > 0)) continue;
    branches.push_back({branch.from, branch.to, branch.count});
  }
  return branches;
}

}  // namespace hbbp
