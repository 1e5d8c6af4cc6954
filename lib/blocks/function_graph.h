// The flow of control within a function (or part, or window), as far as its code alone tells.
#ifndef HBBP_LIB_BLOCKS_FUNCTION_GRAPH_H_
#define HBBP_LIB_BLOCKS_FUNCTION_GRAPH_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "blocks/block_map.h"
#include "blocks/dominators.h"

namespace hbbp {

// Where control goes on without a branch, or when what was called comes back.
inline std::optional<ModuleAddress> FallThroughOf(const Block& block) {
  if (!FallsThrough(block.terminator)) return std::nullopt;
  return block.next();
}

// Where a direct jump or branch goes, but no call.
inline std::optional<ModuleAddress> BranchTargetOf(const Block& block) {
  const bool is_branch =
      block.terminator == BranchKind::kConditional || block.terminator == BranchKind::kJump;
  if (!is_branch || !block.has_target) return std::nullopt;
  return block.target;
}

// Among blocks by address: the one that starts there, and the one around it.
std::optional<uint32_t> FindBlockAt(std::span<const Block> blocks, ModuleAddress start);
std::optional<uint32_t> FindBlockAround(std::span<const Block> blocks, ModuleAddress address);

struct FunctionGraph {
  // The blocks, in order, and a node for each jump table: many jumps may share one.
  uint32_t nodes = 0;
  std::vector<GraphEdge> edges;
  std::vector<bool> leaves;  // by node: control may go elsewhere
};

FunctionGraph MakeFunctionGraph(std::span<const Block> blocks,
                                std::span<const ReadJumpTable> tables);

}  // namespace hbbp

#endif  // HBBP_LIB_BLOCKS_FUNCTION_GRAPH_H_
