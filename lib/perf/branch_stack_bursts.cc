#include "perf/branch_stack_bursts.h"

#include <algorithm>

namespace hbbp {
namespace {

bool IsKnown(uint16_t cycles) { return cycles != 0 && cycles != UINT16_MAX; }

}  // namespace

void BranchStackLosses::AppendTo(Counters* counters) const {
  AddCounter("empty-entries", empty, counters);
  AddCounter("half-empty-entries", half_empty, counters);
  AddCounter("speculative-entries", speculative, counters);
  AddCounter("transaction-aborts", aborts, counters);
  AddCounter("kernel-crossing-streams", crossing_streams, counters);
  AddCounter("stacks-without-cycles", stacks_without_cycles, counters);
  AddCounter("stacks-of-unused-cycles", stacks_of_unused_cycles, counters);
}

// Returns where an entry that is not a branch is counted, or nullptr for a branch.
uint64_t* BranchStackBursts::FindLoss(const TakenBranch& branch, bool is_speculative,
                                      bool is_abort) {
  if (is_speculative) return &losses_.speculative;
  if (branch.from == 0 || branch.to == 0) return &losses_.half_empty;
  if (is_abort) return &losses_.aborts;
  return nullptr;
}

void BranchStackBursts::Add(const TakenBranch& branch, uint16_t cycles, bool is_speculative,
                            bool is_abort) {
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
  cycles_.push_back(cycles);
}

void BranchStackBursts::EndPart() {
  const size_t first = parts_.empty() ? 0 : parts_.back().end;
  if (first != branches_.size()) parts_.push_back({first, branches_.size()});
}

uint64_t BranchStackBursts::Cycles::Of(uint64_t number) const {
  const double mean = static_cast<double>(sum) / static_cast<double>(streams);
  return std::max(uint64_t{1}, static_cast<uint64_t>(mean * static_cast<double>(number) + 0.5));
}

uint64_t BranchStackBursts::FindExtent() {
  uint64_t streams = 0;
  Cycles known;
  for (const Part& part : parts_) {
    streams += part.size() - 1;
    for (size_t i = part.first + 1; i < part.end; ++i) {
      if (!IsKnown(cycles_[i])) continue;
      ++known.streams;
      known.sum += cycles_[i];
    }
  }
  if (!is_by_cycles_ || streams == 0) return streams;
  const bool has_cycles = 2 * known.streams >= streams;
  if (!extent_unit_) extent_unit_ = has_cycles ? BurstExtent::kEvents : BurstExtent::kStreams;
  if (*extent_unit_ == BurstExtent::kStreams) {
    if (has_cycles) ++losses_.stacks_of_unused_cycles;
    return streams;
  }
  if (!has_cycles) {
    ++losses_.stacks_without_cycles;
    return earlier_cycles_.Of(streams);
  }
  earlier_cycles_.streams += known.streams;
  earlier_cycles_.sum += known.sum;
  return known.Of(streams);
}

}  // namespace hbbp
