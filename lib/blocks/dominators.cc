#include "blocks/dominators.h"

#include <algorithm>
#include <numeric>

namespace hbbp {
namespace {

// The forest of the algorithm of Lengauer and Tarjan: Evaluate returns the node of minimal
// semidominator on the path from a node to the root of its tree.
class LinkedForest {
 public:
  explicit LinkedForest(const std::vector<uint32_t>* semidominators)
      : semidominators_(*semidominators),
        ancestor_(semidominators->size(), kNoNode),
        label_(semidominators->size()) {
    std::iota(label_.begin(), label_.end(), 0);
  }

  void Link(uint32_t parent, uint32_t child) { ancestor_[child] = parent; }

  uint32_t Evaluate(uint32_t node) {
    if (ancestor_[node] == kNoNode) return label_[node];
    Compress(node);
    return label_[node];
  }

 private:
  void Compress(uint32_t node) {
    path_.clear();
    for (uint32_t at = node; ancestor_[ancestor_[at]] != kNoNode; at = ancestor_[at]) {
      path_.push_back(at);
    }
    for (; !path_.empty(); path_.pop_back()) {
      const uint32_t at = path_.back();
      const uint32_t above = ancestor_[at];
      if (semidominators_[label_[above]] < semidominators_[label_[at]]) label_[at] = label_[above];
      ancestor_[at] = ancestor_[above];
    }
  }

  const std::vector<uint32_t>& semidominators_;
  std::vector<uint32_t> ancestor_;
  std::vector<uint32_t> label_;
  std::vector<uint32_t> path_;
};

}  // namespace

Adjacency::Adjacency(uint32_t nodes, std::span<const GraphEdge> edges, Direction direction)
    : first_(size_t{nodes} + 1), ends_(edges.size()) {
  const bool is_forward = direction == Direction::kSuccessors;
  for (const GraphEdge& edge : edges) ++first_[(is_forward ? edge.from : edge.to) + 1];
  std::partial_sum(first_.begin(), first_.end(), first_.begin());
  std::vector<size_t> next(first_.begin(), first_.end() - 1);
  for (const GraphEdge& edge : edges) {
    ends_[next[is_forward ? edge.from : edge.to]++] = is_forward ? edge.to : edge.from;
  }
}

DepthFirst WalkDepthFirst(uint32_t nodes, const Adjacency& successors,
                          std::span<const uint32_t> roots) {
  struct Visit {
    uint32_t position;
    size_t next;  // successor to visit next
  };
  DepthFirst walk;
  walk.number.assign(nodes, kNoNode);
  std::vector<Visit> stack;
  const auto enter = [&](uint32_t node, uint32_t parent) {
    const auto position = static_cast<uint32_t>(walk.order.size());
    walk.number[node] = position;
    walk.order.push_back(node);
    walk.parent.push_back(parent);
    walk.last.push_back(position);
    stack.push_back({position, 0});
  };
  for (const uint32_t root : roots) {
    if (walk.IsReached(root)) continue;
    enter(root, kNoNode);
    while (!stack.empty()) {
      Visit& visit = stack.back();
      const uint32_t position = visit.position;
      const auto next = successors.Of(walk.order[position]);
      while (visit.next < next.size() && walk.IsReached(next[visit.next])) ++visit.next;
      if (visit.next < next.size()) {
        enter(next[visit.next++], position);
        continue;
      }
      walk.last[position] = static_cast<uint32_t>(walk.order.size() - 1);
      stack.pop_back();
    }
  }
  return walk;
}

// Positions count from 1 in this function, and 0 is the outside.
Dominators::Dominators(const DepthFirst& walk, const Adjacency& predecessors,
                       std::span<const uint32_t> roots)
    : immediate_(walk.number.size(), kNoNode),
      first_(walk.number.size()),
      last_(walk.number.size()) {
  const auto positions = static_cast<uint32_t>(walk.order.size() + 1);
  std::vector<uint32_t> semidominator(positions), dominator(positions);
  std::iota(semidominator.begin(), semidominator.end(), 0);
  std::vector<bool> is_root(positions);
  for (const uint32_t root : roots) {
    if (walk.IsReached(root)) is_root[walk.number[root] + 1] = true;
  }
  // These are, for each semidominator, the list of the nodes that have it.
  std::vector<uint32_t> first_of(positions, kNoNode), next_of(positions, kNoNode);
  LinkedForest forest(&semidominator);
  const auto parent_of = [&walk](uint32_t position) {
    const uint32_t parent = walk.parent[position - 1];
    return parent == kNoNode ? 0 : parent + 1;
  };
  for (uint32_t position = positions - 1; position > 0; --position) {
    const auto consider = [&](uint32_t from) {
      semidominator[position] =
          std::min(semidominator[position], semidominator[forest.Evaluate(from)]);
    };
    for (const uint32_t predecessor : predecessors.Of(walk.order[position - 1])) {
      if (walk.IsReached(predecessor)) consider(walk.number[predecessor] + 1);
    }
    if (is_root[position]) consider(0);
    next_of[position] = first_of[semidominator[position]];
    first_of[semidominator[position]] = position;
    const uint32_t parent = parent_of(position);
    forest.Link(parent, position);
    for (uint32_t at = first_of[parent]; at != kNoNode; at = next_of[at]) {
      const uint32_t best = forest.Evaluate(at);
      dominator[at] = semidominator[best] < semidominator[at] ? best : parent;
    }
    first_of[parent] = kNoNode;
  }
  for (uint32_t position = 1; position < positions; ++position) {
    if (dominator[position] != semidominator[position])
      dominator[position] = dominator[dominator[position]];
    if (dominator[position] != 0) {
      immediate_[walk.order[position - 1]] = walk.order[dominator[position] - 1];
    }
  }
  NumberTree(walk);
}

// The walk reaches a dominator before the nodes that it dominates. So a pass from the end adds up
// the sizes of subtrees, and a pass from the beginning assigns the numbers.
void Dominators::NumberTree(const DepthFirst& walk) {
  std::vector<uint32_t>& size = last_;
  for (size_t i = walk.order.size(); i-- > 0;) {
    const uint32_t node = walk.order[i];
    ++size[node];
    if (immediate_[node] != kNoNode) size[immediate_[node]] += size[node];
  }
  std::vector<uint32_t> next(walk.number.size());
  uint32_t next_root = 1;
  for (const uint32_t node : walk.order) {
    uint32_t& number = immediate_[node] == kNoNode ? next_root : next[immediate_[node]];
    first_[node] = number;
    number += size[node];
    next[node] = first_[node] + 1;
  }
  for (const uint32_t node : walk.order) last_[node] = first_[node] + size[node] - 1;
}

}  // namespace hbbp
