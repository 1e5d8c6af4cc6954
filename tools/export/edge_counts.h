// Computes how often control went along the edges between the blocks of a function.
//
// What leaves a block has its count. It is divided among the edges by what was observed of each, if
// anything was. Other edges follow from the counts of blocks alone, where one edge of a block is
// the only one that is not known:
//
//   head (1000) -> then, head -> join; then (300) -> join (1000)
//   head -> then is all that comes to `then`: 300; so head -> join is 700
#ifndef HBBP_TOOLS_EXPORT_EDGE_COUNTS_H_
#define HBBP_TOOLS_EXPORT_EDGE_COUNTS_H_

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace hbbp::tools {

inline constexpr uint32_t kOutsideFunction = UINT32_MAX;
inline constexpr double kUnknownCount = std::numeric_limits<double>::quiet_NaN();

struct WeightedEdge {
  uint32_t from = kOutsideFunction;  // index of the block
  uint32_t to = kOutsideFunction;
  double weight = kUnknownCount;  // executions that were observed
};

// Returns the count of each edge, kUnknownCount where nothing determines it. `blocks` has the count
// of each block.
std::vector<double> CountEdges(std::span<const double> blocks, std::span<const WeightedEdge> edges);

}  // namespace hbbp::tools

#endif  // HBBP_TOOLS_EXPORT_EDGE_COUNTS_H_
