// FindLoops walks the graph depth-first and works on positions of that walk. Find visits possible
// headers from the last position to the first: it adds the edges that no tree edge explains where
// the paths to their ends separate, collects the body of the loop of each header backwards from the
// sources of its back edges, and merges the body into the header, which stands for the inner loop
// in outer ones. At the end it orders the loops from the outside in and counts their entries.
// analysis/profile_loops.cc and the estimators call it with the graph of a function.
#include "blocks/loop_nest.h"

#include <algorithm>
#include <numeric>

namespace hbbp {
namespace {

class DisjointSets {
 public:
  explicit DisjointSets(size_t size) : parents_(size) {
    std::iota(parents_.begin(), parents_.end(), 0);
  }

  uint32_t Find(uint32_t element) {
    uint32_t root = element;
    while (parents_[root] != root) root = parents_[root];
    while (parents_[element] != root) {
      const uint32_t next = parents_[element];
      parents_[element] = root;
      element = next;
    }
    return root;
  }

  // The representative of the set of `into` represents both.
  void Unite(uint32_t element, uint32_t into) { parents_[Find(element)] = Find(into); }

 private:
  std::vector<uint32_t> parents_;
};

// Growing lists of numbers in shared storage, a list for each number below `size`.
class Lists {
 public:
  explicit Lists(size_t size) : first_(size, kNoNode) {}

  void Add(uint32_t list, uint32_t element) {
    elements_.push_back({element, first_[list]});
    first_[list] = static_cast<uint32_t>(elements_.size() - 1);
  }

  template <typename Visit>
  void ForEach(uint32_t list, Visit&& visit) const {
    for (uint32_t at = first_[list]; at != kNoNode; at = elements_[at].next) {
      visit(elements_[at].value);
    }
  }

 private:
  struct Element {
    uint32_t value;
    uint32_t next;
  };
  std::vector<uint32_t> first_;
  std::vector<Element> elements_;
};

// Works on positions of the walk, not on nodes, up to OrderLoops.
class LoopFinder {
 public:
  LoopFinder(uint32_t nodes, std::span<const GraphEdge> edges, std::span<const uint32_t> roots)
      : walk_(Walk(nodes, edges, roots)),
        edges_(EdgesWithinTrees(edges, roots)),
        dominators_(walk_, Adjacency(nodes, edges_, Adjacency::Direction::kPredecessors),
                    is_entered_),
        sets_(nodes),
        predecessors_(nodes),
        natural_(nodes),
        unnatural_(nodes),
        joining_(nodes),
        outermost_(nodes, kNoLoop) {
    nest_.innermost.assign(nodes, kNoLoop);
  }

  LoopNest Find() {
    SortEdges();
    for (auto position = static_cast<uint32_t>(walk_.order.size()); position-- > 0;) {
      AddEdgesJoinedAt(position);
      AddLoop(position, natural_, false);
      AddLoop(position, unnatural_, true);
    }
    OrderLoops();
    CountEntries();
    return std::move(nest_);
  }

 private:
  // Starts the walk at the roots, then at nodes that no root reaches: first those without a
  // predecessor.
  static DepthFirst Walk(uint32_t nodes, std::span<const GraphEdge> edges,
                         std::span<const uint32_t> roots) {
    std::vector<bool> has_predecessor(nodes);
    for (const GraphEdge& edge : edges) {
      if (edge.from != edge.to) has_predecessor[edge.to] = true;
    }
    std::vector<uint32_t> starts(roots.begin(), roots.end());
    for (const bool follows : {false, true}) {
      for (uint32_t node = 0; node < nodes; ++node) {
        if (has_predecessor[node] == follows) starts.push_back(node);
      }
    }
    return WalkDepthFirst(nodes, Adjacency(nodes, edges, Adjacency::Direction::kSuccessors),
                          starts);
  }

  // Drops edges between trees. All roots count as one tree; every other start of the walk begins a
  // tree of its own.
  std::vector<GraphEdge> EdgesWithinTrees(std::span<const GraphEdge> edges,
                                          std::span<const uint32_t> roots) {
    std::vector<bool> is_root(walk_.number.size());
    for (const uint32_t root : roots) is_root[root] = true;
    is_entered_.assign(roots.begin(), roots.end());
    std::vector<uint32_t> tree(walk_.number.size());
    uint32_t trees = 0;
    for (uint32_t position = 0; position < walk_.order.size(); ++position) {
      const uint32_t node = walk_.order[position];
      if (walk_.parent[position] == kNoNode && !is_root[node]) {
        is_entered_.push_back(node);
        ++trees;
      }
      tree[node] = trees;
    }
    std::vector<GraphEdge> within;
    within.reserve(edges.size());
    for (const GraphEdge& edge : edges) {
      if (tree[edge.from] == tree[edge.to]) within.push_back(edge);
    }
    return within;
  }

  // Keeps back edges by their target, and other edges by the position where the paths to their ends
  // separate.
  void SortEdges() {
    const auto nodes = static_cast<uint32_t>(walk_.number.size());
    const Adjacency successors(nodes, edges_, Adjacency::Direction::kSuccessors);
    DisjointSets finished(walk_.order.size());
    std::vector<uint32_t> open;
    for (uint32_t from = 0; from < walk_.order.size(); ++from) {
      while (!open.empty() && walk_.last[open.back()] < from) {
        const uint32_t parent = walk_.parent[open.back()];
        if (parent != kNoNode) finished.Unite(open.back(), parent);
        open.pop_back();
      }
      open.push_back(from);
      const uint32_t node = walk_.order[from];
      for (const uint32_t successor : successors.Of(node)) {
        const uint32_t to = walk_.number[successor];
        if (walk_.IsAncestor(to, from)) {
          (dominators_.Dominates(successor, node) ? natural_ : unnatural_).Add(to, from);
          continue;
        }
        // Tree edges are in walk_.parent.
        if (walk_.parent[to] == from) continue;
        const uint32_t joint = walk_.IsAncestor(from, to) ? from : finished.Find(to);
        // Otherwise the ends are in trees of different roots, and no loop has both.
        if (!walk_.IsAncestor(joint, from)) continue;
        joining_.Add(joint, static_cast<uint32_t>(joined_.size()));
        joined_.push_back({from, to});
      }
    }
  }

  void AddEdgesJoinedAt(uint32_t position) {
    joining_.ForEach(position, [this](uint32_t index) {
      const uint32_t from = sets_.Find(joined_[index].from);
      const uint32_t to = sets_.Find(joined_[index].to);
      if (from != to) predecessors_.Add(to, from);
    });
  }

  // Adds the loop of `header`, if it is one. Inner loops were added before, and their headers stand
  // for them.
  void AddLoop(uint32_t header, const Lists& sources, bool is_irreducible) {
    body_.clear();
    is_in_body_.resize(walk_.order.size());
    bool is_loop = false;
    const auto add = [&](uint32_t position) {
      const uint32_t whole = sets_.Find(position);
      if (whole == header || is_in_body_[whole]) return;
      is_in_body_[whole] = true;
      body_.push_back(whole);
    };
    sources.ForEach(header, [&](uint32_t source) {
      is_loop = true;
      add(source);
    });
    if (!is_loop) return;
    for (size_t i = 0; i < body_.size(); ++i) {
      const uint32_t position = body_[i];
      add(walk_.parent[position]);
      predecessors_.ForEach(position, add);
    }
    const auto loop = static_cast<uint32_t>(nest_.loops.size());
    nest_.loops.push_back({.header = walk_.order[header], .is_irreducible = is_irreducible});
    body_.push_back(header);
    for (const uint32_t position : body_) {
      if (outermost_[position] == kNoLoop) {
        nest_.innermost[walk_.order[position]] = loop;
      } else {
        nest_.loops[outermost_[position]].parent = loop;
      }
      is_in_body_[position] = false;
      sets_.Unite(position, header);
    }
    outermost_[header] = loop;
  }

  // Reverses the loops, which were found from the inside out.
  void OrderLoops() {
    std::vector<NestedLoop>& loops = nest_.loops;
    std::reverse(loops.begin(), loops.end());
    const auto reversed = [&loops](uint32_t loop) {
      return loop == kNoLoop ? kNoLoop : static_cast<uint32_t>(loops.size() - 1 - loop);
    };
    for (NestedLoop& loop : loops) {
      loop.parent = reversed(loop.parent);
      loop.depth = nest_.DepthOf(loop.parent) + 1;
      const uint32_t link = nest_.SkipLink(loop.parent);
      const uint32_t farther = nest_.SkipLink(link);
      const bool are_equal = nest_.DepthOf(loop.parent) - nest_.DepthOf(link) ==
                             nest_.DepthOf(link) - nest_.DepthOf(farther);
      loop.skip_link = are_equal ? farther : loop.parent;
    }
    for (uint32_t& loop : nest_.innermost) {
      loop = reversed(loop);
      if (loop != kNoLoop) ++loops[loop].nodes;
    }
    for (size_t i = loops.size(); i-- > 0;) {
      if (loops[i].parent != kNoLoop) loops[loops[i].parent].nodes += loops[i].nodes;
    }
  }

  void CountEntries() {
    const auto nodes = static_cast<uint32_t>(walk_.number.size());
    const Adjacency predecessors(nodes, edges_, Adjacency::Direction::kPredecessors);
    std::vector<bool> is_entered(nodes);
    for (const uint32_t node : is_entered_) is_entered[node] = true;
    for (uint32_t node = 0; node < nodes; ++node) {
      // `around` is the innermost loop around `node` that is not entered here.
      uint32_t around = is_entered[node] ? kNoLoop : nest_.innermost[node];
      for (const uint32_t from : predecessors.Of(node)) {
        around = nest_.Common(around, nest_.innermost[from]);
      }
      if (nest_.innermost[node] != kNoLoop) ++nest_.loops[nest_.innermost[node]].entries;
      // Subtracts the entry from all loops from `around` outwards; the unsigned number may wrap
      // around.
      if (around != kNoLoop) --nest_.loops[around].entries;
    }
    for (size_t i = nest_.loops.size(); i-- > 0;) {
      const NestedLoop& loop = nest_.loops[i];
      if (loop.parent != kNoLoop) nest_.loops[loop.parent].entries += loop.entries;
    }
  }

  const DepthFirst walk_;
  std::vector<uint32_t> is_entered_;  // nodes that are entered from outside
  const std::vector<GraphEdge> edges_;
  const Dominators dominators_;
  DisjointSets sets_;   // loops, represented by their headers
  Lists predecessors_;  // without the parent in the walk
  Lists natural_, unnatural_;
  Lists joining_;  // indices of joined_
  std::vector<GraphEdge> joined_;
  std::vector<uint32_t> outermost_;  // by header: the outermost loop found so far
  std::vector<uint32_t> body_;
  std::vector<bool> is_in_body_;
  LoopNest nest_;
};

}  // namespace

uint32_t LoopNest::Ancestor(uint32_t loop, uint32_t depth) const {
  while (DepthOf(loop) > depth) {
    const uint32_t link = SkipLink(loop);
    loop = DepthOf(link) >= depth ? link : loops[loop].parent;
  }
  return loop;
}

bool LoopNest::IsWithin(uint32_t loop, uint32_t around) const {
  return Ancestor(loop, DepthOf(around)) == around;
}

uint32_t LoopNest::Common(uint32_t a, uint32_t b) const {
  a = Ancestor(a, DepthOf(b));
  b = Ancestor(b, DepthOf(a));
  // Loops of the same depth have skip links of the same length.
  while (a != b) {
    const bool can_skip = SkipLink(a) != SkipLink(b);
    a = can_skip ? SkipLink(a) : loops[a].parent;
    b = can_skip ? SkipLink(b) : loops[b].parent;
  }
  return a;
}

LoopNest FindLoops(uint32_t nodes, std::span<const GraphEdge> edges,
                   std::span<const uint32_t> roots) {
  return LoopFinder(nodes, edges, roots).Find();
}

}  // namespace hbbp
