#include "pmu_model/trace.h"

namespace hbbp::simulation {

bool Trace::IsTaken(const TraceBlock& block, uint64_t next) const {
  if (block.count == 0) return true;
  const TraceInstruction& last = InstructionsOf(block).back();
  switch (last.branch) {
    case BranchKind::kNone:
    case BranchKind::kSystem:
    case BranchKind::kTrap:
      return false;
    case BranchKind::kConditional:
      return next != last.end();
    default:
      return true;
  }
}

BranchPair Trace::FindBranch(const TraceBlock& block, uint64_t next) const {
  if (block.count == 0) return {block.start, next};
  return {InstructionsOf(block).back().address, next};
}

std::vector<uint64_t> Executions(const Trace& trace) {
  std::vector<uint64_t> executions(trace.blocks.size());
  for (const uint32_t block : trace.sequence) ++executions[block];
  return executions;
}

TraceSize SizeOf(const Trace& trace) {
  TraceSize size;
  for (size_t i = 0; i < trace.sequence.size(); ++i) {
    const TraceBlock& block = trace.blocks[trace.sequence[i]];
    size.instructions += block.count;
    if (trace.IsTaken(block, trace.After(i))) ++size.taken_branches;
  }
  return size;
}

}  // namespace hbbp::simulation
