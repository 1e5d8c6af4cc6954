// FindLoops finds the loops of a control-flow graph and their nesting.
//
// A back edge leads to a node that dominates its source. All back edges to one header make
// one natural loop: the header, and whatever reaches one of these edges without passing it.
//
// Where a cycle can be entered at several nodes, none of which dominates the others, no edge is a
// back edge. Such a region is a loop too, marked as irreducible: its header is the node that a
// depth-first walk reaches first, and its other entries are counted. Natural loops within it, and
// around it, are found as usual; one of them may have the header of the region.
//
//   1 -> 2 -> 3 -> 2        2, 3: natural, header 2
//   1 -> 2, 1 -> 3          2, 3: irreducible, two entries
//   2 -> 3, 3 -> 2
//
// Nodes that no root reaches (landing pads, cases of an unknown jump) start walks of their own, in
// order, and their edges into a loop of the others do not count as entries: a loop that catches an
// exception is not irreducible for that.
//
// The algorithm is near-linear: it finds Havlak's loops in the order of Ramalingam, "Identifying
// Loops in Almost Linear Time".
#ifndef HBBP_LIB_BLOCKS_LOOP_NEST_H_
#define HBBP_LIB_BLOCKS_LOOP_NEST_H_

#include <cstdint>
#include <span>
#include <vector>

#include "blocks/dominators.h"

namespace hbbp {

inline constexpr uint32_t kNoLoop = UINT32_MAX;

struct NestedLoop {
  uint32_t header = kNoNode;
  uint32_t parent = kNoLoop;  // the loop around it
  uint32_t depth = 1;         // 1 for an outermost loop
  uint32_t nodes = 0;         // includes those of inner loops
  uint32_t entries = 0;       // nodes that edges from outside the loop or the graph lead to
  bool is_irreducible = false;
  uint32_t skip_link = kNoLoop;  // an outer loop; following such links takes logarithmic time
};

struct LoopNest {
  std::vector<NestedLoop> loops;    // outer loops before inner ones
  std::vector<uint32_t> innermost;  // by node

  // These take logarithmic time. kNoLoop is around all loops.
  // Returns whether `loop` is `around` or in it.
  bool IsWithin(uint32_t loop, uint32_t around) const;
  // Returns the innermost loop that contains both, which may be one of them.
  uint32_t Common(uint32_t a, uint32_t b) const;
  uint32_t DepthOf(uint32_t loop) const { return loop == kNoLoop ? 0 : loops[loop].depth; }
  uint32_t SkipLink(uint32_t loop) const {
    return loop == kNoLoop ? kNoLoop : loops[loop].skip_link;
  }

 private:
  uint32_t Ancestor(uint32_t loop, uint32_t depth) const;
};

// Ends of edges and roots are below `nodes`. Edges may be duplicated.
LoopNest FindLoops(uint32_t nodes, std::span<const GraphEdge> edges,
                   std::span<const uint32_t> roots);

}  // namespace hbbp

#endif  // HBBP_LIB_BLOCKS_LOOP_NEST_H_
