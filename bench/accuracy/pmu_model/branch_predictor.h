// SIMULATION: a simple branch predictor: two bits for a conditional branch, the last target for an
// indirect one; direct branches and returns are always predicted correctly.
#ifndef HBBP_BENCH_ACCURACY_PMU_MODEL_BRANCH_PREDICTOR_H_
#define HBBP_BENCH_ACCURACY_PMU_MODEL_BRANCH_PREDICTOR_H_

#include <cstdint>
#include <vector>

#include "isa/control_flow.h"

namespace hbbp::simulation {

class BranchPredictor {
 public:
  // Predicts the branches at the ends of so many blocks.
  explicit BranchPredictor(size_t blocks) : branches_(blocks) {}

  // Returns whether the branch of `block` was predicted to go to `next`, and learns that it did.
  bool Expects(uint32_t block, BranchKind kind, bool is_taken, uint64_t next) {
    State& state = branches_[block];
    switch (kind) {
      case BranchKind::kConditional: {
        const bool is_right = (state.taken >= 2) == is_taken;
        if (is_taken && state.taken < 3) ++state.taken;
        if (!is_taken && state.taken > 0) --state.taken;
        return is_right;
      }
      case BranchKind::kIndirectJump:
      case BranchKind::kIndirectCall: {
        const bool is_right = state.target == next;
        state.target = next;
        return is_right;
      }
      default:
        return true;
    }
  }

 private:
  struct State {
    uint64_t target = 0;
    uint8_t taken = 1;  // 0 to 3; from 2 on it is predicted to be taken
  };
  std::vector<State> branches_;
};

}  // namespace hbbp::simulation

#endif  // HBBP_BENCH_ACCURACY_PMU_MODEL_BRANCH_PREDICTOR_H_
