#include "perf/branch_stack_bursts.h"

namespace hbbp {
void BranchStackLosses::AppendTo(Counters* counters) const {
  AddCounter("empty-entries", empty, counters);
  AddCounter("half-empty-entries", half_empty, counters);
  AddCounter("speculative-entries", speculative, counters);
  AddCounter("transaction-aborts", aborts, counters);
  AddCounter("kernel-crossing-streams", crossing_streams, counters);
}

// Returns where an entry that is not a branch is counted, or nullptr for a branch.
uint64_t* BranchStackBursts::FindLoss(const TakenBranch& branch, bool is_speculative,
                                      bool is_abort) {
  if (is_speculative) return &losses_.speculative;
  if (branch.from == 0 || branch.to == 0) return &losses_.half_empty;
  if (is_abort) return &losses_.aborts;
  return nullptr;
}

void BranchStackBursts::Add(const TakenBranch& branch, bool is_speculative, bool is_abort) {
  if (branch.from == 0 && branch.to == 0) {
    ++losses_.empty;
    EndPart();
    return;
  }
  ++entries_;
  if (uint64_t* const loss = FindLoss(branch, is_speculative, is_abort)) {
    ++*loss;
    EndPart();
    return;
  }
  if (entries_ == 1) oldest_is_kept_ = true;
  const size_t part = parts_.empty() ? 0 : parts_.back().end;
  const bool has_stream = part != branches_.size();
  if (has_stream && IsKernelAddress(branches_.back().to) != IsKernelAddress(branch.from)) {
    ++losses_.crossing_streams;
    EndPart();
  }
  branches_.push_back(branch);
}

void BranchStackBursts::EndPart() {
  const size_t first = parts_.empty() ? 0 : parts_.back().end;
  if (first != branches_.size()) parts_.push_back({first, branches_.size()});
}

}  // namespace hbbp
