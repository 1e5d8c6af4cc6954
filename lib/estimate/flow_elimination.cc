#include "estimate/flow_elimination.h"

#include <algorithm>
#include <utility>

namespace hbbp {
namespace {

// A list this short is tidied at each change.
constexpr uint32_t kShortList = 32;

}  // namespace

FlowElimination::FlowElimination(uint32_t nodes, std::span<const Conductance> edges,
                                 size_t max_added)
    : nodes_(nodes), position_(nodes, kNone), queues_(kManyNeighbours + 1), may_add_(max_added) {
  result_.steps.reserve(nodes);
  result_.neighbours.reserve(edges.size());
  halves_.reserve(3 * edges.size());
  for (const Conductance& edge : edges) {
    if (edge.a == edge.b) continue;
    if (edge.a == 0 || edge.b == 0) {
      nodes_[edge.a + edge.b].to_ground += edge.value;
    } else {
      AddHalf(edge.a, edge.b, edge.value);
      AddHalf(edge.b, edge.a, edge.value);
    }
  }
  for (uint32_t node = 1; node < nodes; ++node) {
    Tidy(node);
    Enqueue(node);
  }
}

void FlowElimination::AddHalf(uint32_t node, uint32_t to, double value) {
  uint32_t index = free_half_;
  if (index == kNone) {
    index = static_cast<uint32_t>(halves_.size());
    halves_.emplace_back();
  } else {
    free_half_ = halves_[index].next;
  }
  Node& owner = nodes_[node];
  halves_[index] = {to, owner.first, value};
  owner.first = index;
  ++owner.length;
}

void FlowElimination::Tidy(uint32_t node) {
  Node& owner = nodes_[node];
  tidied_.clear();
  for (uint32_t i = owner.first; i != kNone;) {
    const Half half = halves_[i];
    halves_[i].next = free_half_;
    free_half_ = i;
    i = half.next;
    if (nodes_[half.to].is_eliminated) continue;
    uint32_t& position = position_[half.to];
    if (position == kNone) {
      position = static_cast<uint32_t>(tidied_.size());
      tidied_.push_back(half);
    } else {
      tidied_[position].value += half.value;
    }
  }
  owner.first = kNone;
  owner.length = 0;
  for (const Half& half : tidied_) {
    position_[half.to] = kNone;
    AddHalf(node, half.to, half.value);
  }
  owner.tidy_length = owner.length;
  owner.degree = owner.length;
}

void FlowElimination::Enqueue(uint32_t node) {
  const uint32_t queue = std::min(nodes_[node].degree, kManyNeighbours);
  queues_[queue].push_back(node);
  lowest_queue_ = std::min(lowest_queue_, queue);
}

uint32_t FlowElimination::NextNode() {
  for (; lowest_queue_ < queues_.size(); ++lowest_queue_) {
    std::vector<uint32_t>& queue = queues_[lowest_queue_];
    while (!queue.empty()) {
      const uint32_t node = queue.back();
      queue.pop_back();
      const bool is_current = std::min(nodes_[node].degree, kManyNeighbours) == lowest_queue_;
      if (!nodes_[node].is_eliminated && is_current) return node;
    }
  }
  return kNone;
}

Elimination FlowElimination::Run() {
  for (uint32_t node = NextNode(); node != kNone; node = NextNode()) Eliminate(node);
  return std::move(result_);
}

void FlowElimination::Eliminate(uint32_t node) {
  Tidy(node);
  neighbours_.swap(tidied_);
  const std::span<Half> neighbours = neighbours_;
  Node& eliminated = nodes_[node];
  eliminated.is_eliminated = true;
  double sum = eliminated.to_ground;
  for (const Half& half : neighbours) sum += half.value;
  const double inverse_sum = sum > 0 ? 1 / sum : 0;
  for (const Half& half : neighbours) {
    const double share = half.value * inverse_sum;
    result_.neighbours.push_back({half.to, share});
    nodes_[half.to].to_ground += share * eliminated.to_ground;
  }
  result_.steps.push_back(
      {node, static_cast<uint32_t>(result_.neighbours.size()), sum > 0 ? 1 / sum : 0});

  const size_t degree = neighbours.size();
  const size_t added = degree < 2 ? 0 : degree * (degree - 1) / 2;
  if (added <= may_add_) {
    may_add_ -= added;
    ConnectAll(neighbours, inverse_sum);
  } else {
    result_.is_exact = false;
    ConnectSome(neighbours, inverse_sum);
  }
  for (const Half& half : neighbours) {
    Node& neighbour = nodes_[half.to];
    const bool is_short = added <= may_add_ && neighbour.length <= kShortList;
    if (is_short || neighbour.length > 2 * neighbour.tidy_length) {
      Tidy(half.to);
    } else {
      --neighbour.degree;
    }
    Enqueue(half.to);
  }
}

void FlowElimination::ConnectAll(std::span<const Half> neighbours, double inverse_sum) {
  for (size_t i = 1; i < neighbours.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      const Half &a = neighbours[i], &b = neighbours[j];
      const double value = a.value * (b.value * inverse_sum);
      AddHalf(a.to, b.to, value);
      AddHalf(b.to, a.to, value);
    }
  }
}

// Connects each neighbour but the last to one of those with larger conductance, at random by
// conductance.
void FlowElimination::ConnectSome(std::span<Half> neighbours, double inverse_sum) {
  std::sort(neighbours.begin(), neighbours.end(),
            [](const Half& a, const Half& b) { return a.value < b.value; });
  std::vector<double> up_to;  // sums of the conductances
  double total = 0;
  for (const Half& half : neighbours) up_to.push_back(total += half.value);
  for (size_t i = 0; i + 1 < neighbours.size(); ++i) {
    const double rest = total - up_to[i];
    const double drawn = up_to[i] + rest * random_.NextFraction();
    const auto found =
        std::upper_bound(up_to.begin() + static_cast<ptrdiff_t>(i) + 1, up_to.end() - 1, drawn);
    const Half& a = neighbours[i];
    const Half& b = neighbours[static_cast<size_t>(found - up_to.begin())];
    const double value = a.value * (rest * inverse_sum);
    AddHalf(a.to, b.to, value);
    AddHalf(b.to, a.to, value);
  }
}

}  // namespace hbbp
