// Loops of a graph of control flow, and how they are nested.
//
// A back edge leads to a node that dominates where it comes from. All back edges to one header make
// one natural loop: the header, and whatever reaches one of these edges without passing it.
//
// Where a cycle can be entered at several nodes, none of which dominates the others, no edge is a
// back edge. Such a region is a loop too, marked as irreducible: its header is the node that a walk
// in depth reaches first, and other roads into it are counted. Natural loops within it, and around
// it, are found as ever; one of them may have the header of the region.
//
//   1 -> 2 -> 3 -> 2        2, 3: natural, header 2
//   1 -> 2, 1 -> 3          2, 3: irreducible, two entries
//   2 -> 3, 3 -> 2
//
// Nodes that no root reaches (landing pads, cases of an unknown jump) are walked from on their own,
// in order, and what they lead to counts as no road into a loop of the others: that an exception
// is caught in a loop does not make it irreducible.
//
// Near-linear: Havlak's loops, with the order of Ramalingam, "Identifying Loops in Almost Linear
// Time".
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
  uint32_t depth = 1;         // loops around a node of it, itself included
  uint32_t nodes = 0;         // with those of the loops in it
  uint32_t entries = 0;       // nodes of it that edges from elsewhere, or from outside, lead to
  bool is_irreducible = false;
  uint32_t far_around = kNoLoop;  // one of the loops around it, such that leaps are few
};

struct LoopNest {
  std::vector<NestedLoop> loops;    // those around a loop before it
  std::vector<uint32_t> innermost;  // by node

  // kNoLoop is around all loops. These take logarithmic time.
  // Whether `loop` is `around` or in it.
  bool IsWithin(uint32_t loop, uint32_t around) const;
  // The innermost loop that both are, or are in.
  uint32_t Common(uint32_t a, uint32_t b) const;
  uint32_t DepthOf(uint32_t loop) const { return loop == kNoLoop ? 0 : loops[loop].depth; }
  uint32_t LeapFrom(uint32_t loop) const {
    return loop == kNoLoop ? kNoLoop : loops[loop].far_around;
  }

 private:
  uint32_t Ancestor(uint32_t loop, uint32_t depth) const;
};

// Ends of edges and roots are below `nodes`. Edges may be there several times.
LoopNest FindLoops(uint32_t nodes, std::span<const GraphEdge> edges,
                   std::span<const uint32_t> roots);

}  // namespace hbbp

#endif  // HBBP_LIB_BLOCKS_LOOP_NEST_H_
