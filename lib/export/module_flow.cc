#include "export/module_flow.h"

namespace hbbp {

namespace {

// Calls visit(record, last_instruction) for each block of the module that ran.
template <typename Visit>
void VisitBlocks(const ExportSubject& subject, Visit&& visit) {
  const Analysis& analysis = subject.analysis;
  CancelCheck check(subject.work.cancel);
  for (const BlockRecord& record : analysis.blocks()) {
    check.Step();
    if (record.module != subject.module || !(record.estimate.count > 0)) continue;
    const std::vector<Instruction> instructions =
        analysis.modules().DecodeBlock(record.module, record.block);
    if (!instructions.empty()) visit(record, ModuleAddress{instructions.back().address});
  }
}

// Returns the direct calls and jumps of the blocks that ran.
std::vector<FlowBranch> FindBranchesOfBlocks(const ExportSubject& subject) {
  std::vector<FlowBranch> branches;
  VisitBlocks(subject, [&](const BlockRecord& record, ModuleAddress last) {
    const BranchKind kind = record.block.terminator;
    const bool is_always_taken = kind == BranchKind::kCall || kind == BranchKind::kJump;
    if (!record.block.has_target || !is_always_taken) return;
    branches.push_back({last, record.block.target, record.estimate.count});
  });
  return branches;
}

}  // namespace

std::vector<FlowBlock> FindBlocks(const ExportSubject& subject) {
  std::vector<FlowBlock> blocks;
  VisitBlocks(subject, [&](const BlockRecord& record, ModuleAddress last) {
    blocks.push_back({record.block.start, last, record.estimate.count});
  });
  return blocks;
}

std::vector<FlowBranch> FindBranches(const ExportSubject& subject) {
  CancelCheck check(subject.work.cancel);
  std::vector<FlowBranch> branches;
  bool has_branches = false;  // else the module has samples alone
  for (const TakenBranchRecord& branch : subject.analysis.branches()) {
    check.Step();
    has_branches |= branch.to_module == subject.module && branch.count > 0;
    if (branch.from_module != subject.module || branch.to_module != subject.module) continue;
    if (branch.from == kNoAddress || branch.to == kNoAddress || !(branch.count > 0)) continue;
    branches.push_back({branch.from, branch.to, branch.count});
  }
  return has_branches ? branches : FindBranchesOfBlocks(subject);
}

}  // namespace hbbp
