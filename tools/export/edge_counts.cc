#include "edge_counts.h"

#include <algorithm>
#include <cmath>

namespace hbbp::tools {
namespace {

class EdgeCounter {
 public:
  EdgeCounter(std::span<const double> blocks, std::span<const WeightedEdge> edges)
      : blocks_(blocks), edges_(edges), counts_(edges.size(), kUnknownCount) {
    for (std::vector<std::vector<size_t>>& side : edges_of_) side.resize(blocks.size());
    for (size_t i = 0; i < edges.size(); ++i) {
      if (edges[i].from != kOutsideFunction) edges_of_[kOut][edges[i].from].push_back(i);
      if (edges[i].to != kOutsideFunction) edges_of_[kIn][edges[i].to].push_back(i);
    }
  }

  std::vector<double> Count() {
    for (uint32_t block = 0; block < blocks_.size(); ++block) DivideByWeight(block);
    for (uint32_t block = 0; block < blocks_.size(); ++block) {
      for (const Side side : {kOut, kIn}) Resolve(block, side);
    }
    while (!waiting_.empty()) {
      const auto [block, side] = waiting_.back();
      waiting_.pop_back();
      Resolve(block, side);
    }
    return std::move(counts_);
  }

 private:
  enum Side { kIn, kOut };

  void DivideByWeight(uint32_t block) {
    double sum = 0;
    for (const size_t edge : edges_of_[kOut][block]) sum += edges_[edge].weight;
    if (!(sum > 0)) return;
    for (const size_t edge : edges_of_[kOut][block]) {
      counts_[edge] = blocks_[block] * edges_[edge].weight / sum;
    }
  }

  // The last unknown edge of a block has what the others leave.
  void Resolve(uint32_t block, Side side) {
    double rest = blocks_[block];
    size_t unknown = edges_.size();
    for (const size_t edge : edges_of_[side][block]) {
      if (!std::isnan(counts_[edge])) {
        rest -= counts_[edge];
      } else if (unknown != edges_.size()) {
        return;
      } else {
        unknown = edge;
      }
    }
    if (unknown == edges_.size()) return;
    counts_[unknown] = std::max(rest, 0.0);
    const auto& [from, to, weight] = edges_[unknown];
    if (from != kOutsideFunction) waiting_.emplace_back(from, kOut);
    if (to != kOutsideFunction) waiting_.emplace_back(to, kIn);
  }

  const std::span<const double> blocks_;
  const std::span<const WeightedEdge> edges_;
  std::vector<double> counts_;
  std::vector<std::vector<size_t>> edges_of_[2];  // by side and block
  std::vector<std::pair<uint32_t, Side>> waiting_;
};

}  // namespace

std::vector<double> CountEdges(std::span<const double> blocks,
                               std::span<const WeightedEdge> edges) {
  return EdgeCounter(blocks, edges).Count();
}

}  // namespace hbbp::tools
