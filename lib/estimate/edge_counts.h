// Computes how often control went along the edges of a graph, where the counts of nodes determine
// it.
//
// What goes into a node goes out of it. Where all edges on one side of a node are known but one,
// that one is the rest:
//
//   preheader (10) -> header (1000) -> exit (10), header -> header
//   the preheader leads nowhere else: 10; so the header came back to itself 990 times
//
// Other edges stay unknown; flow_inference.h estimates the most likely flow.
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

// An edge between nodes, or from or to the outside (kOutside).
struct CountedEdge {
  uint32_t from = UINT32_MAX;
  uint32_t to = UINT32_MAX;
};

// Returns counts by edge, which are never negative. A node without a count conserves flow as well.
std::vector<std::optional<ReplicatedCount>> CountEdges(
    std::span<const std::optional<ReplicatedCount>> nodes, std::span<const CountedEdge> edges);

// The ratio of two counts with the same replicates. Its standard error is that of a - ratio * b,
// divided by b (the delta method), so that errors they share cancel out.
struct Ratio {
  double value = 0;
  double standard_error = 0;
};
Ratio ComputeRatio(const ReplicatedCount& a, const ReplicatedCount& b);

}  // namespace hbbp

#endif  // HBBP_LIB_ESTIMATE_EDGE_COUNTS_H_
