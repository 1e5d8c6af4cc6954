// SIMULATION: the last taken branches, and the anomalies of the oldest of them.
#ifndef HBBP_BENCH_ACCURACY_PMU_MODEL_BRANCH_RING_H_
#define HBBP_BENCH_ACCURACY_PMU_MODEL_BRANCH_RING_H_

#include <cstdint>
#include <vector>

#include "pmu_model/parameters.h"
#include "pmu_model/random.h"
#include "pmu_model/trace.h"

namespace hbbp::simulation {

class BranchRing {
 public:
  explicit BranchRing(const PmuParameters& parameters)
      : depth_(parameters.lbr_depth < 2 ? 2 : parameters.lbr_depth),
        sticky_share_(parameters.sticky_share),
        sticky_chance_(parameters.sticky_chance),
        repeat_chance_(parameters.repeat_chance),
        seed_(parameters.seed),
        random_(Mix(parameters.seed ^ kStream)),
        ring_(depth_) {}

  void Push(const BranchPair& branch) {
    if (size_ == depth_ && IsSticky(ring_[next_].from) && random_.Chance(sticky_chance_)) {
      // ring_[next_] is the oldest; the one after it is dropped instead.
      const size_t second = Advance(next_);
      ring_[second] = ring_[next_];
      ring_[next_] = branch;
      next_ = second;
      return;
    }
    ring_[next_] = branch;
    next_ = Advance(next_);
    if (size_ < depth_) ++size_;
  }

  // Returns the branches newest first, like perf.
  std::vector<BranchPair> Read() {
    std::vector<BranchPair> stack;
    stack.reserve(size_);
    for (size_t i = 0, at = next_; i < size_; ++i) {
      at = at == 0 ? depth_ - 1 : at - 1;
      stack.push_back(ring_[at]);
    }
    if (size_ >= 2 && random_.Chance(repeat_chance_)) stack.back() = stack[size_ - 2];
    return stack;
  }

  // Depends on the address of the branch alone, so that it is the same in every run with this seed.
  bool IsSticky(uint64_t from) const {
    return sticky_share_ > 0 && Fraction(Mix(from ^ Mix(seed_))) < sticky_share_;
  }

 private:
  static constexpr uint64_t kStream = 0x6c6272;

  size_t Advance(size_t at) const { return at + 1 == depth_ ? 0 : at + 1; }

  size_t depth_;
  double sticky_share_, sticky_chance_, repeat_chance_;
  uint64_t seed_;
  Random random_;
  std::vector<BranchPair> ring_;
  size_t next_ = 0;  // index of the next branch, and of the oldest once the ring is full
  size_t size_ = 0;
};

}  // namespace hbbp::simulation

#endif  // HBBP_BENCH_ACCURACY_PMU_MODEL_BRANCH_RING_H_
