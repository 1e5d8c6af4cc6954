// Does the elimination for flow_laplacian.h.
#ifndef HBBP_LIB_ESTIMATE_FLOW_ELIMINATION_H_
#define HBBP_LIB_ESTIMATE_FLOW_ELIMINATION_H_

#include <cstdint>
#include <span>
#include <vector>

#include "base/random_bits.h"

namespace hbbp {

struct Conductance {
  uint32_t a = 0;
  uint32_t b = 0;
  double value = 0;  // >= 0
};

// The nodes in the order in which they were eliminated.
struct Elimination {
  struct Step {
    uint32_t node;
    uint32_t end;  // of its part of neighbours, which begins at the end of the step before
    double inverse_sum;
  };
  struct Neighbour {
    uint32_t node;
    double share;  // in the conductance of the eliminated node
  };

  bool is_exact = true;
  std::vector<Step> steps;
  std::vector<Neighbour> neighbours;
};

class FlowElimination {
 public:
  FlowElimination(uint32_t nodes, std::span<const Conductance> edges, size_t max_added);

  // Eliminates all nodes except 0.
  Elimination Run();

 private:
  static constexpr uint32_t kNone = UINT32_MAX;
  static constexpr uint32_t kManyNeighbours = 255;  // nodes with more are not ordered

  // One direction of an edge.
  struct Half {
    uint32_t to;
    uint32_t next;  // of the same node
    double value;
  };
  struct Node {
    uint32_t first = kNone;  // of its halves
    // of their list, which may contain a neighbour twice, or an eliminated one
    uint32_t length = 0;
    uint32_t tidy_length = 0;
    uint32_t degree = 0;
    bool is_eliminated = false;
    double to_ground = 0;
  };

  void AddHalf(uint32_t node, uint32_t to, double value);
  // Removes duplicates and eliminated neighbours from the list of a node, and copies it to tidied_.
  void Tidy(uint32_t node);
  void Enqueue(uint32_t node);
  uint32_t NextNode();
  void Eliminate(uint32_t node);
  void ConnectAll(std::span<const Half> neighbours, double inverse_sum);
  void ConnectSome(std::span<Half> neighbours, double inverse_sum);

  std::vector<Node> nodes_;
  std::vector<Half> halves_;
  uint32_t free_half_ = kNone;
  std::vector<uint32_t> position_;  // of a node in tidied_, or kNone
  std::vector<Half> tidied_;
  std::vector<Half> neighbours_;  // of the node that is being eliminated
  // by degree; may contain nodes whose degree has changed
  std::vector<std::vector<uint32_t>> queues_;
  uint32_t lowest_queue_ = 0;
  size_t may_add_;
  RandomBits random_{1};
  Elimination result_;
};

}  // namespace hbbp

#endif  // HBBP_LIB_ESTIMATE_FLOW_ELIMINATION_H_
