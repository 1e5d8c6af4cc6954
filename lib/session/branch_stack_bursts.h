// Branch stacks of hardware, as bursts of consecutive taken branches.
#ifndef HBBP_LIB_SESSION_BRANCH_STACK_BURSTS_H_
#define HBBP_LIB_SESSION_BRANCH_STACK_BURSTS_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "perf/branch_stack.h"
#include "samples/samples.h"

namespace hbbp {

// Why entries of branch stacks were left out.
struct BranchStackLosses {
  uint64_t empty = 0;        // 0 to 0: the stack was not full, or an entry was filtered
  uint64_t speculative = 0;  // on a path that was not taken after all
};

// Cuts stacks at entries that are no branches which happened, since what follows one did not follow
// the one before it.
class BranchStackBursts {
 public:
  // Calls visit(std::span<const TakenBranchSample> branches, uint64_t period) for each part of
  // `stack`, oldest branch first. The parts share `period` by their streams.
  template <typename Visitor>
  void Visit(const BranchStack& stack, uint64_t period, Visitor&& visit) {
    Split(stack);
    uint64_t streams = 0;
    for (const Part& part : parts_) streams += part.size() - 1;
    for (const Part& part : parts_) {
      const std::span<const TakenBranchSample> branches(branches_.data() + part.first, part.size());
      visit(branches, streams == 0 ? period / parts_.size() : period * (part.size() - 1) / streams);
    }
  }

  const BranchStackLosses& losses() const { return losses_; }

 private:
  struct Part {
    size_t first, end;
    size_t size() const { return end - first; }
  };

  void Split(const BranchStack& stack);

  std::vector<TakenBranchSample> branches_;
  std::vector<Part> parts_;  // none is empty
  BranchStackLosses losses_;
};

}  // namespace hbbp

#endif  // HBBP_LIB_SESSION_BRANCH_STACK_BURSTS_H_
