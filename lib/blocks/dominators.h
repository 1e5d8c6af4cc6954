// Finds the dominators of a control-flow graph in O(m log n): Lengauer and Tarjan, "A Fast
// Algorithm for Finding Dominators in a Flowgraph", the variant with path compression. Nothing
// recurses, so that functions may be nested to any depth.
#ifndef HBBP_LIB_BLOCKS_DOMINATORS_H_
#define HBBP_LIB_BLOCKS_DOMINATORS_H_

#include <cstdint>
#include <span>
#include <vector>

namespace hbbp {

struct GraphEdge {
  uint32_t from = 0;
  uint32_t to = 0;
};

inline constexpr uint32_t kNoNode = UINT32_MAX;

// Adjacency lists the successors or the predecessors of each node.
class Adjacency {
 public:
  enum class Direction : uint8_t { kSuccessors, kPredecessors };
  Adjacency(uint32_t nodes, std::span<const GraphEdge> edges, Direction direction);

  std::span<const uint32_t> Of(uint32_t node) const {
    return std::span(ends_).subspan(first_[node], first_[node + 1] - first_[node]);
  }

 private:
  std::vector<size_t> first_;  // by node; one more element holds the end
  std::vector<uint32_t> ends_;
};

// The result of a depth-first walk from several roots, one after the other. A position is an index
// of `order`.
struct DepthFirst {
  std::vector<uint32_t> order;   // nodes that were reached, parents first
  std::vector<uint32_t> number;  // by node: its position; kNoNode if it was not reached
  std::vector<uint32_t> last;    // by position: the last position of its subtree
  std::vector<uint32_t> parent;  // by position: the position of its parent; kNoNode for a root

  bool IsReached(uint32_t node) const { return number[node] != kNoNode; }
  // The arguments are positions; each is its own ancestor.
  bool IsAncestor(uint32_t above, uint32_t below) const {
    return above <= below && below <= last[above];
  }
};

DepthFirst WalkDepthFirst(uint32_t nodes, const Adjacency& successors,
                          std::span<const uint32_t> roots);

class Dominators {
 public:
  // Roots are entered from outside.
  Dominators(const DepthFirst& walk, const Adjacency& predecessors,
             std::span<const uint32_t> roots);

  // Returns kNoNode for a node that is not reached or that only the outside dominates.
  uint32_t ImmediateDominator(uint32_t node) const { return immediate_[node]; }
  // Each node that is reached dominates itself.
  bool Dominates(uint32_t above, uint32_t below) const {
    return first_[above] != 0 && first_[below] != 0 && first_[above] <= first_[below] &&
           first_[below] <= last_[above];
  }

 private:
  void NumberTree(const DepthFirst& walk);

  std::vector<uint32_t> immediate_;
  // The number of each node in the dominator tree, from 1 on, and the last number of its subtree.
  std::vector<uint32_t> first_, last_;
};

}  // namespace hbbp

#endif  // HBBP_LIB_BLOCKS_DOMINATORS_H_
