#include "estimate/edge_counts.h"

#include <algorithm>
#include <cmath>
#include <deque>

namespace hbbp {
namespace {

constexpr size_t kSides = 2;
enum Side : size_t { kIn = 0, kOut = 1 };

class EdgeCounter {
 public:
  EdgeCounter(std::span<const std::optional<ReplicatedCount>> nodes,
              std::span<const CountedEdge> edges)
      : edges_(edges), nodes_(nodes.begin(), nodes.end()), counts_(edges.size()) {
    for (size_t side = 0; side < kSides; ++side) {
      unknown_[side].resize(nodes_.size());
      first_[side].resize(nodes_.size() + 1);
      for (const CountedEdge& edge : edges_) {
        if (const uint32_t node = EdgeEnd(edge, side); node < nodes_.size()) {
          ++unknown_[side][node];
          ++first_[side][node + 1];
        }
      }
      for (size_t i = 0; i < nodes_.size(); ++i) first_[side][i + 1] += first_[side][i];
      edges_of_[side].resize(first_[side].back());
      std::vector<size_t> next(first_[side].begin(), first_[side].end() - 1);
      for (size_t i = 0; i < edges_.size(); ++i) {
        if (const uint32_t node = EdgeEnd(edges_[i], side); node < nodes_.size()) {
          edges_of_[side][next[node]++] = i;
        }
      }
    }
  }

  std::vector<std::optional<ReplicatedCount>> Count() {
    // Edges that are the only one of a node come first, because they follow from a single count.
    for (size_t node = 0; node < nodes_.size(); ++node) {
      for (size_t side = 0; side < kSides; ++side) Consider(node, side);
    }
    while (!waiting_.empty()) {
      const auto [node, side] = waiting_.front();
      waiting_.pop_front();
      Resolve(node, side);
    }
    return std::move(counts_);
  }

 private:
  static uint32_t EdgeEnd(const CountedEdge& edge, size_t side) {
    return side == kIn ? edge.to : edge.from;
  }

  // The counts of one side may determine its last edge, or the node if it has no count.
  void Consider(size_t node, size_t side) {
    const bool determines_edge = nodes_[node] && unknown_[side][node] == 1;
    const bool has_edges = first_[side][node] != first_[side][node + 1];
    const bool determines_node = !nodes_[node] && has_edges && unknown_[side][node] == 0;
    if (determines_edge || determines_node) waiting_.push_back({node, side});
  }

  void Resolve(size_t node, size_t side) {
    ReplicatedCount sum;
    std::optional<size_t> unknown;
    for (size_t i = first_[side][node]; i < first_[side][node + 1]; ++i) {
      const size_t edge = edges_of_[side][i];
      if (counts_[edge]) {
        sum.Add(*counts_[edge]);
      } else if (unknown) {
        return;
      } else {
        unknown = edge;
      }
    }
    if (unknown && nodes_[node]) {
      ReplicatedCount rest = *nodes_[node];
      rest.Add(sum, -1);
      rest.count = std::max(rest.count, 0.0);
      SetEdge(*unknown, rest);
    } else if (!unknown && !nodes_[node]) {
      nodes_[node] = sum;
      for (size_t other = 0; other < kSides; ++other) Consider(node, other);
    }
  }

  void SetEdge(size_t edge, const ReplicatedCount& count) {
    counts_[edge] = count;
    for (size_t side = 0; side < kSides; ++side) {
      const uint32_t node = EdgeEnd(edges_[edge], side);
      if (node >= nodes_.size()) continue;
      --unknown_[side][node];
      Consider(node, side);
    }
  }

  const std::span<const CountedEdge> edges_;
  std::vector<std::optional<ReplicatedCount>> nodes_;
  std::vector<std::optional<ReplicatedCount>> counts_;
  // Holds, by side and node, the number of edges with unknown count, and the range of its edges in
  // edges_of_.
  std::vector<uint32_t> unknown_[kSides];
  std::vector<size_t> first_[kSides];
  std::vector<size_t> edges_of_[kSides];
  std::deque<std::pair<size_t, size_t>> waiting_;
};

}  // namespace

std::vector<std::optional<ReplicatedCount>> CountEdges(
    std::span<const std::optional<ReplicatedCount>> nodes, std::span<const CountedEdge> edges) {
  return EdgeCounter(nodes, edges).Count();
}

Ratio ComputeRatio(const ReplicatedCount& a, const ReplicatedCount& b) {
  if (!(b.count > 0)) return {};
  Ratio ratio{a.count / b.count, 0};
  ReplicateSums left = a.replicates;
  left.Add(b.replicates, -ratio.value);
  ratio.standard_error = std::sqrt(VarianceOf(left)) / b.count;
  return ratio;
}

}  // namespace hbbp
