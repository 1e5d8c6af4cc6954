#include "perf/branch_stack_bursts.h"

namespace hbbp {

void BranchStackBursts::Add(const TakenBranchSample& branch, bool is_speculative) {
  const bool is_empty = branch.from.value == 0 && branch.to.value == 0;
  if (!is_empty && !is_speculative) {
    branches_.push_back(branch);
    return;
  }
  ++(is_empty ? losses_.empty : losses_.speculative);
  EndPart();
}

void BranchStackBursts::EndPart() {
  const size_t first = parts_.empty() ? 0 : parts_.back().end;
  if (first != branches_.size()) parts_.push_back({first, branches_.size()});
}

}  // namespace hbbp
