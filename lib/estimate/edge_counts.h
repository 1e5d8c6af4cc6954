// How often control went along an edge, where the counts of nodes determine that.
//
// What goes into a node goes out of it. Where all edges on one side of a node are known but one,
// that one is the rest:
//
//   preheader (10) -> header (1000) -> exit (10), header -> header
//   the preheader leads nowhere else: 10; so the header came back to itself 990 times
//
// Edges that this does not reach stay unknown; to find the most likely flow is the business of
// flow_inference.h.
#ifndef HBBP_LIB_ESTIMATE_EDGE_COUNTS_H_
#define HBBP_LIB_ESTIMATE_EDGE_COUNTS_H_

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "estimate/stream_estimator.h"

namespace hbbp {

struct ReplicatedCount {
  double count = 0;
  ReplicateSums replicates;

  void Add(const ReplicatedCount& more, double factor = 1) {
    count += factor * more.count;
    replicates.Add(more.replicates, factor);
  }
  double StandardError() const { return std::sqrt(VarianceOf(replicates)); }
};

// An end that is no node is outside.
struct CountedEdge {
  uint32_t from = UINT32_MAX;
  uint32_t to = UINT32_MAX;
};

// By edge. Counts of edges are never negative. A node without a count conserves flow all the same.
std::vector<std::optional<ReplicatedCount>> CountEdges(
    std::span<const std::optional<ReplicatedCount>> nodes, std::span<const CountedEdge> edges);

// One count by another, where both have the same replicates; its standard error is that of
// a - ratio * b, by b (the delta method), so that what they have in common cancels out.
struct Ratio {
  double value = 0;
  double standard_error = 0;
};
Ratio RatioOf(const ReplicatedCount& a, const ReplicatedCount& b);

}  // namespace hbbp

#endif  // HBBP_LIB_ESTIMATE_EDGE_COUNTS_H_
