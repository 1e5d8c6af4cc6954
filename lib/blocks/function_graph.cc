#include "blocks/function_graph.h"

#include <algorithm>
#include <iterator>

namespace hbbp {

std::optional<uint32_t> FindBlockAround(std::span<const Block> blocks, ModuleAddress address) {
  const auto next =
      std::upper_bound(blocks.begin(), blocks.end(), address,
                       [](ModuleAddress a, const Block& block) { return a < block.start; });
  if (next == blocks.begin() || !std::prev(next)->Contains(address)) return std::nullopt;
  return static_cast<uint32_t>(std::prev(next) - blocks.begin());
}

std::optional<uint32_t> FindBlockAt(std::span<const Block> blocks, ModuleAddress start) {
  const std::optional<uint32_t> block = FindBlockAround(blocks, start);
  return block && blocks[*block].start == start ? block : std::nullopt;
}

FunctionGraph MakeFunctionGraph(std::span<const Block> blocks,
                                std::span<const ReadJumpTable> tables) {
  FunctionGraph graph;
  graph.nodes = static_cast<uint32_t>(blocks.size() + tables.size());
  graph.leaves.resize(graph.nodes);
  const auto add = [&](uint32_t from, std::optional<ModuleAddress> target) {
    if (!target) return;
    if (const auto to = FindBlockAt(blocks, *target)) {
      graph.edges.push_back({from, *to});
    } else {
      graph.leaves[from] = true;
    }
  };
  for (uint32_t i = 0; i < blocks.size(); ++i) {
    const auto falls = FallThroughOf(blocks[i]);
    const auto target = BranchTargetOf(blocks[i]);
    add(i, falls);
    // A branch to what follows anyway is one edge.
    if (target != falls) add(i, target);
    if (!falls && !target) graph.leaves[i] = true;
  }
  for (uint32_t i = 0; i < tables.size(); ++i) {
    if (tables[i].jumps.empty()) continue;
    const auto table = static_cast<uint32_t>(blocks.size() + i);
    for (const ModuleAddress jump : tables[i].jumps) {
      const auto from = FindBlockAround(blocks, jump);
      if (!from) continue;
      graph.edges.push_back({*from, table});
      graph.leaves[*from] = false;
    }
    for (const ModuleAddress target : tables[i].targets) add(table, target);
  }
  return graph;
}

}  // namespace hbbp
