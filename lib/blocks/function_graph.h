// Makes the control-flow graph of a function (or part, or window) from its code alone.
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

// Returns where control continues without a branch, or after a call returns.
inline std::optional<ModuleAddress> FallThroughOf(const Block& block) {
  if (!block.falls_through()) return std::nullopt;
  return block.next();
}

// Returns where a direct jump or branch leads, and nothing for a call.
inline std::optional<ModuleAddress> BranchTargetOf(const Block& block) {
  const bool is_branch =
      block.terminator == BranchKind::kConditional || block.terminator == BranchKind::kJump;
  if (!is_branch || !block.has_target) return std::nullopt;
  return block.target;
}

// Find the block that starts at an address, and the block around an address. Blocks are sorted by
// address.
std::optional<uint32_t> FindBlockAt(std::span<const Block> blocks, ModuleAddress start);
std::optional<uint32_t> FindBlockAround(std::span<const Block> blocks, ModuleAddress address);

struct FunctionGraph {
  // Nodes are the blocks, in order, and after them the jump tables, which many jumps may share.
  uint32_t nodes = 0;
  std::vector<GraphEdge> edges;
  std::vector<bool> leaves;  // by node: control may leave the function
};

FunctionGraph MakeFunctionGraph(std::span<const Block> blocks,
                                std::span<const ReadJumpTable> tables);

}  // namespace hbbp

#endif  // HBBP_LIB_BLOCKS_FUNCTION_GRAPH_H_
