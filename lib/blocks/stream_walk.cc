#include "blocks/stream_walk.h"

#include <optional>

#include "isa/control_flow.h"

namespace hbbp {
namespace {

// Real code does not pass so many branches without taking one. The limit bounds the cost of a
// damaged file.
constexpr size_t kMaxBlocks = 4096;

bool MayPass(BranchKind terminator) {
  return terminator == BranchKind::kNone || terminator == BranchKind::kConditional ||
         terminator == BranchKind::kSystem;
}

StreamFault CheckLastBranch(const ModuleCode& code, ModuleAddress end, const Block& block) {
  ControlFlow flow;
  if (!DecodeControlFlow(code.CodeAt(end, kMaxInstructionLength), end.value, &flow)) {
    return StreamFault::kUndecodable;
  }
  if (!EndsBlock(flow.kind)) return StreamFault::kNotABranch;
  return end + flow.length == block.end ? StreamFault::kNone : StreamFault::kUndecodable;
}

}  // namespace

void AddStreamEvidence(const ModuleCode& code, ModuleAddress start, ModuleAddress end,
                       BlockMap* map) {
  map->AddLeaderEvidence(start);
  ControlFlow flow;
  if (DecodeControlFlow(code.CodeAt(end, kMaxInstructionLength), end.value, &flow) &&
      EndsBlock(flow.kind)) {
    map->AddInstructionEvidence(end);
  }
}

StreamFault WalkStream(const ModuleCode& code, ModuleAddress start, ModuleAddress end,
                       BlockMap* map, std::vector<Block>* blocks) {
  if (end < start) return StreamFault::kBackwards;
  if (code.CodeAt(start, 1).empty()) return StreamFault::kNoCode;
  const size_t first = blocks->size();
  for (ModuleAddress next = start;;) {
    const std::optional<Block> block = map->Find(next);
    if (!block || block->start != next || block->instruction_count == 0) {
      return StreamFault::kUndecodable;
    }
    blocks->push_back(*block);
    if (block->Contains(end)) return CheckLastBranch(code, end, *block);
    if (!MayPass(block->terminator)) return StreamFault::kPassesBranch;
    if (blocks->size() - first == kMaxBlocks) return StreamFault::kTooLong;
    next = block->next();
  }
}

}  // namespace hbbp
