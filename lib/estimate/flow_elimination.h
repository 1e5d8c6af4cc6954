// The elimination of flow_laplacian.h.
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

// Which nodes were eliminated, in which order.
struct Elimination {
  struct Step {
    uint32_t node;
    uint32_t end;  // of its part of neighbours, which begins where that before it ends
    double inverse_sum;
  };
  struct Neighbour {
    uint32_t node;
    double share;  // of the conductance of the eliminated node
  };

  bool is_exact = true;
  std::vector<Step> steps;
  std::vector<Neighbour> neighbours;
};

class FlowElimination {
 public:
  FlowElimination(uint32_t nodes, std::span<const Conductance> edges, size_t max_added);

  // Eliminates all nodes but 0.
  Elimination Run();

 private:
  static constexpr uint32_t kNone = UINT32_MAX;
  static constexpr uint32_t kManyNeighbours = 255;  // no finer order among these

  // An edge, as one of its nodes sees it.
  struct Half {
    uint32_t to;
    uint32_t next;  // of the same node
    double value;
  };
  struct Node {
    uint32_t first = kNone;  // of its halves
    uint32_t length = 0;     // of their list, which may name a neighbour twice, or a dead one
    uint32_t tidy_length = 0;
    uint32_t degree = 0;
    bool is_eliminated = false;
    double to_ground = 0;
  };

  void AddHalf(uint32_t node, uint32_t to, double value);
  // Leaves each live neighbour once in the list of a node, and the same in tidied_.
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
  std::vector<Half> neighbours_;               // of the node that is eliminated
  std::vector<std::vector<uint32_t>> queues_;  // by degree; may name a node that has moved on
  uint32_t lowest_queue_ = 0;
  size_t may_add_;
  RandomBits random_{1};
  Elimination result_;
};

}  // namespace hbbp

#endif  // HBBP_LIB_ESTIMATE_FLOW_ELIMINATION_H_
