// FlowLaplacian: solves L x = b for the Laplacian of a graph with conductances, node 0 grounded.
//
//   L x = b:   sum over edges {i, j} of c_ij (x_i - x_j) = b_i for all i > 0, and x_0 = 0.
//
// Nodes are eliminated, those of fewest neighbours first: a node k with conductances c_i to its
// neighbours and S = sum(c_i) is replaced by edges of conductance c_i c_j / S between them. Nothing
// is ever subtracted, so that no digits are lost, however far conductances are apart. The control
// flow of a program is nearly a tree to this end (its tree-width is small, whatever its size), and
// both time and memory are linear.
//
// Where it is not, what elimination adds to the graph is limited: beyond that, a random tree stands
// for the edges between neighbours, with the same expectation (Kyng and Sachdeva, "Approximate
// Gaussian elimination for Laplacians", 2016), and what comes out preconditions conjugate
// gradients. That makes it near to linear for any graph.
//
// The order, and what is added to what, is found once and serves for any conductances, as long as
// elimination is exact.
//
// A part that nothing connects to node 0 has a solution if its b adds up to 0, as it does where b
// comes from flows along its edges; one of its nodes is then grounded too.
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
  // Of each node; node 0 is not looked at, and 0 in solutions.
  template <size_t kColumns>
  using Vectors = std::vector<std::array<double, kColumns>>;

  // Nodes of `edges` are below `nodes`. `max_added` bounds what elimination may add.
  FlowLaplacian(uint32_t nodes, std::vector<Conductance> edges, size_t max_added);

  // Of the edges, in their order.
  void SetConductances(std::span<const double> values);

  // Is elimination alone a solution?
  bool is_exact() const { return elimination_.is_exact; }

  // Of many right-hand sides at once. Instantiated for 1 and for kReplicates columns.
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

  // If it is exact: where in its neighbours each edge counts, if not to the ground or to nothing,
  // and each that is added, in the order of eliminations.
  std::vector<uint32_t> slots_of_edges_;
  std::vector<uint32_t> slots_of_added_;
  std::vector<double> values_;  // by slot: conductances
  std::vector<double> to_ground_;
};

}  // namespace hbbp

#endif  // HBBP_LIB_ESTIMATE_FLOW_LAPLACIAN_H_
