// FlowLaplacian solves L x = b for the Laplacian of a graph with conductances, node 0 grounded.
//
//   L x = b:   sum over edges {i, j} of c_ij (x_i - x_j) = b_i for all i > 0, and x_0 = 0.
//
// Nodes are eliminated, those of fewest neighbours first: a node k with conductances c_i to its
// neighbours and S = sum(c_i) is replaced by edges of conductance c_i c_j / S between them. Nothing
// is ever subtracted, so that no digits are lost, however far conductances are apart. The control
// flow of a program is nearly a tree for this purpose (its tree-width is small, whatever its size),
// and both time and memory are linear.
//
// For other graphs, the number of edges that elimination adds is limited: beyond that, a random
// tree stands for the edges between neighbours, with the same expectation (Kyng and Sachdeva,
// "Approximate Gaussian elimination for Laplacians", 2016), and the result preconditions conjugate
// gradients. That makes the time nearly linear for any graph.
//
// The order, and which edges are added, is found once and reused for all conductances, as long as
// elimination is exact.
//
// A component that is not connected to node 0 has a solution if its b adds up to 0, as it does
// where b comes from flows along its edges; one of its nodes is then grounded too.
//
//   Nodes 0, 1, 2; c_01 = 1, c_12 = 1/2, b = {., 0, 1}: x = {0, 1, 3}.
#ifndef HBBP_LIB_ESTIMATE_FLOW_LAPLACIAN_H_
#define HBBP_LIB_ESTIMATE_FLOW_LAPLACIAN_H_

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "estimate/flow_elimination.h"

namespace hbbp {

class FlowLaplacian {
 public:
  // A value for each node; that of node 0 is ignored, and 0 in solutions.
  template <size_t kColumns>
  using Vectors = std::vector<std::array<double, kColumns>>;

  // Nodes of `edges` must be below `nodes`. `max_added` bounds the edges that elimination adds.
  FlowLaplacian(uint32_t nodes, std::vector<Conductance> edges, size_t max_added);

  // Takes a value for each edge, in their order.
  void SetConductances(std::span<const double> values);

  // Returns whether elimination alone is a solution.
  bool is_exact() const { return elimination_.is_exact; }

  // Solves for several right-hand sides at once. It is instantiated for 1 and for kReplicates
  // columns.
  template <size_t kColumns>
  Vectors<kColumns> Solve(const Vectors<kColumns>& b) const;

 private:
  void Eliminate(size_t max_added);
  void PlanRepetition();
  void RepeatElimination();
  template <size_t kColumns>
  void Substitute(Vectors<kColumns>* x) const;
  template <size_t kColumns>
  void Multiply(const Vectors<kColumns>& x, Vectors<kColumns>* product) const;
  template <size_t kColumns>
  Vectors<kColumns> SolveByGradients(const Vectors<kColumns>& b) const;

  const uint32_t nodes_;
  const size_t max_added_;
  std::vector<Conductance> edges_;
  Elimination elimination_;

  // If elimination is exact: the index in its neighbours at which each edge counts, except for
  // edges to the ground and self-loops, and then of each added edge, in the order of eliminations.
  std::vector<uint32_t> slots_of_edges_;
  std::vector<uint32_t> slots_of_added_;
  std::vector<double> values_;  // by slot: conductances
  std::vector<double> to_ground_;
};

}  // namespace hbbp

#endif  // HBBP_LIB_ESTIMATE_FLOW_LAPLACIAN_H_
