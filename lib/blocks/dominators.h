// Dominators of a graph of control flow, in near-linear time: Lengauer and Tarjan, "A Fast
// Algorithm for Finding Dominators in a Flowgraph", the variant with path compression; O(m log n).
// No recursion, so that functions may be as deep as they like.
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

// The ends of edges by their other ends.
class Adjacency {
 public:
  enum class Direction : uint8_t { kSuccessors, kPredecessors };
  Adjacency(uint32_t nodes, std::span<const GraphEdge> edges, Direction direction);

  std::span<const uint32_t> Of(uint32_t node) const {
    return std::span(ends_).subspan(first_[node], first_[node + 1] - first_[node]);
  }

 private:
  std::vector<size_t> first_;  // by node, and one more
  std::vector<uint32_t> ends_;
};

// A walk in depth from several roots, one after the other.
struct DepthFirst {
  std::vector<uint32_t> order;   // nodes that were reached, parents first
  std::vector<uint32_t> number;  // by node: its place in `order`; kNoNode if it was not reached
  std::vector<uint32_t> last;    // by place: the last place of its subtree
  std::vector<uint32_t> parent;  // by place: the place of its parent; kNoNode of a root

  bool IsReached(uint32_t node) const { return number[node] != kNoNode; }
  // Places; each is its own ancestor.
  bool IsAncestor(uint32_t above, uint32_t below) const {
    return above <= below && below <= last[above];
  }
};

DepthFirst WalkInDepth(uint32_t nodes, const Adjacency& successors,
                       std::span<const uint32_t> roots);

class Dominators {
 public:
  // Roots are entered from outside.
  Dominators(const DepthFirst& walk, const Adjacency& predecessors,
             std::span<const uint32_t> roots);

  // kNoNode of what is not reached, and where nothing but the outside dominates.
  uint32_t ImmediateOf(uint32_t node) const { return immediate_[node]; }
  // Each node dominates itself, if it is reached.
  bool Dominates(uint32_t above, uint32_t below) const {
    return first_[above] != 0 && first_[below] != 0 && first_[above] <= first_[below] &&
           first_[below] <= last_[above];
  }

 private:
  void NumberTree(const DepthFirst& walk);

  std::vector<uint32_t> immediate_;
  // By node, in the tree of dominators: its number from 1 on, and the last one below it.
  std::vector<uint32_t> first_, last_;
};

}  // namespace hbbp

#endif  // HBBP_LIB_BLOCKS_DOMINATORS_H_
