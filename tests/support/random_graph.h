// Makes random graphs of control flow: mostly a chain, as blocks fall into each other, with edges
// forward and back.
#ifndef HBBP_TESTS_SUPPORT_RANDOM_GRAPH_H_
#define HBBP_TESTS_SUPPORT_RANDOM_GRAPH_H_

#include <cstdint>
#include <random>
#include <vector>

#include "blocks/dominators.h"

namespace hbbp {

inline std::vector<GraphEdge> MakeRandomGraph(uint32_t nodes, double edges_per_node,
                                              uint32_t longest_edge, std::mt19937_64* random) {
  std::vector<GraphEdge> edges;
  std::bernoulli_distribution falls_through(0.85);
  for (uint32_t node = 0; node + 1 < nodes; ++node) {
    if (falls_through(*random)) edges.push_back({node, node + 1});
  }
  std::uniform_int_distribution<uint32_t> any(0, nodes - 1);
  std::uniform_int_distribution<int64_t> length(-int64_t{longest_edge}, longest_edge);
  const auto more = static_cast<uint32_t>(edges_per_node * nodes);
  for (uint32_t i = 0; i < more; ++i) {
    const uint32_t from = any(*random);
    const int64_t to = from + length(*random);
    if (to >= 0 && to < nodes) edges.push_back({from, static_cast<uint32_t>(to)});
  }
  return edges;
}

}  // namespace hbbp

#endif  // HBBP_TESTS_SUPPORT_RANDOM_GRAPH_H_
