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

  // What stands for the set of `into` stands for both.
  void Unite(uint32_t element, uint32_t into) { parents_[Find(element)] = Find(into); }

 private:
  std::vector<uint32_t> parents_;
};

// Lists of numbers by number, which grow.
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

// Works on places of the walk, not on nodes, up to the last step.
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
    for (auto place = static_cast<uint32_t>(walk_.order.size()); place-- > 0;) {
      AddEdgesJoinedAt(place);
      AddLoop(place, natural_, false);
      AddLoop(place, unnatural_, true);
    }
    OrderLoops();
    CountEntries();
    return std::move(nest_);
  }

 private:
  // Nodes that no root reaches follow, those first that nothing leads to.
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
    return WalkInDepth(nodes, Adjacency(nodes, edges, Adjacency::Direction::kSuccessors), starts);
  }

  // All roots are in one tree, so to speak; each other start of the walk is in one of its own.
  std::vector<GraphEdge> EdgesWithinTrees(std::span<const GraphEdge> edges,
                                          std::span<const uint32_t> roots) {
    std::vector<bool> is_root(walk_.number.size());
    for (const uint32_t root : roots) is_root[root] = true;
    is_entered_.assign(roots.begin(), roots.end());
    std::vector<uint32_t> tree(walk_.number.size());
    uint32_t trees = 0;
    for (uint32_t place = 0; place < walk_.order.size(); ++place) {
      const uint32_t node = walk_.order[place];
      if (walk_.parent[place] == kNoNode && !is_root[node]) {
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

  // Edges back are kept with where they lead to, all others where the ways to their ends part.
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
        // That of a tree edge is known without it.
        if (walk_.parent[to] == from) continue;
        const uint32_t joint = walk_.IsAncestor(from, to) ? from : finished.Find(to);
        // Otherwise they are in trees of different roots, and no loop has both.
        if (!walk_.IsAncestor(joint, from)) continue;
        joining_.Add(joint, static_cast<uint32_t>(joined_.size()));
        joined_.push_back({from, to});
      }
    }
  }

  void AddEdgesJoinedAt(uint32_t place) {
    joining_.ForEach(place, [this](uint32_t index) {
      const uint32_t from = sets_.Find(joined_[index].from);
      const uint32_t to = sets_.Find(joined_[index].to);
      if (from != to) predecessors_.Add(to, from);
    });
  }

  // Loops within it are found already, and stand as their headers.
  void AddLoop(uint32_t header, const Lists& sources, bool is_irreducible) {
    body_.clear();
    is_in_body_.resize(walk_.order.size());
    bool is_loop = false;
    const auto add = [&](uint32_t place) {
      const uint32_t whole = sets_.Find(place);
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
      const uint32_t place = body_[i];
      add(walk_.parent[place]);
      predecessors_.ForEach(place, add);
    }
    const auto loop = static_cast<uint32_t>(nest_.loops.size());
    nest_.loops.push_back({.header = walk_.order[header], .is_irreducible = is_irreducible});
    body_.push_back(header);
    for (const uint32_t place : body_) {
      if (outermost_[place] == kNoLoop) {
        nest_.innermost[walk_.order[place]] = loop;
      } else {
        nest_.loops[outermost_[place]].parent = loop;
      }
      is_in_body_[place] = false;
      sets_.Unite(place, header);
    }
    outermost_[header] = loop;
  }

  // They were found from the inside out.
  void OrderLoops() {
    std::vector<NestedLoop>& loops = nest_.loops;
    std::reverse(loops.begin(), loops.end());
    const auto turned = [&loops](uint32_t loop) {
      return loop == kNoLoop ? kNoLoop : static_cast<uint32_t>(loops.size() - 1 - loop);
    };
    for (NestedLoop& loop : loops) {
      loop.parent = turned(loop.parent);
      loop.depth = nest_.DepthOf(loop.parent) + 1;
      const uint32_t leap = nest_.LeapFrom(loop.parent);
      const uint32_t farther = nest_.LeapFrom(leap);
      const bool are_equal = nest_.DepthOf(loop.parent) - nest_.DepthOf(leap) ==
                             nest_.DepthOf(leap) - nest_.DepthOf(farther);
      loop.far_around = are_equal ? farther : loop.parent;
    }
    for (uint32_t& loop : nest_.innermost) {
      loop = turned(loop);
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
      // The loop around `node` that is not entered here.
      uint32_t around = is_entered[node] ? kNoLoop : nest_.innermost[node];
      for (const uint32_t from : predecessors.Of(node)) {
        around = nest_.Common(around, nest_.innermost[from]);
      }
      if (nest_.innermost[node] != kNoLoop) ++nest_.loops[nest_.innermost[node]].entries;
      // What all loops from here outward have not; wraps around.
      if (around != kNoLoop) --nest_.loops[around].entries;
    }
    for (size_t i = nest_.loops.size(); i-- > 0;) {
      const NestedLoop& loop = nest_.loops[i];
      if (loop.parent != kNoLoop) nest_.loops[loop.parent].entries += loop.entries;
    }
  }

  const DepthFirst walk_;
  std::vector<uint32_t> is_entered_;  // nodes, from outside
  const std::vector<GraphEdge> edges_;
  const Dominators dominators_;
  DisjointSets sets_;   // loops, by their headers
  Lists predecessors_;  // but for the parent in the walk
  Lists natural_, unnatural_;
  Lists joining_;  // of joined_
  std::vector<GraphEdge> joined_;
  std::vector<uint32_t> outermost_;  // loop with that header so far
  std::vector<uint32_t> body_;
  std::vector<bool> is_in_body_;
  LoopNest nest_;
};

}  // namespace

uint32_t LoopNest::Ancestor(uint32_t loop, uint32_t depth) const {
  while (DepthOf(loop) > depth) {
    const uint32_t leap = LeapFrom(loop);
    loop = DepthOf(leap) >= depth ? leap : loops[loop].parent;
  }
  return loop;
}

bool LoopNest::IsWithin(uint32_t loop, uint32_t around) const {
  return Ancestor(loop, DepthOf(around)) == around;
}

uint32_t LoopNest::Common(uint32_t a, uint32_t b) const {
  a = Ancestor(a, DepthOf(b));
  b = Ancestor(b, DepthOf(a));
  // Loops of the same depth leap equally far.
  while (a != b) {
    const bool can_leap = LeapFrom(a) != LeapFrom(b);
    a = can_leap ? LeapFrom(a) : loops[a].parent;
    b = can_leap ? LeapFrom(b) : loops[b].parent;
  }
  return a;
}

LoopNest FindLoops(uint32_t nodes, std::span<const GraphEdge> edges,
                   std::span<const uint32_t> roots) {
  return LoopFinder(nodes, edges, roots).Find();
}

}  // namespace hbbp
