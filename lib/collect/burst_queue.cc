#include "collect/burst_queue.h"

#include <algorithm>
#include <utility>

namespace hbbp {
void BurstQueue::Add(const BurstSample& burst) {
  const size_t branches = burst.branches.size();
  Waiting waiting{burst, entries_.size(), branches, branches + burst.accesses.size()};
  waiting.burst.branches = {};
  waiting.burst.accesses = {};
  entries_.resize(waiting.first + waiting.count);
  Entry* entry = entries_.data() + waiting.first;
  for (const TakenBranch& branch : burst.branches) (entry++)->branch = branch;
  for (const RecordedAccess& access : burst.accesses) (entry++)->access = access;
  try {
    waiting_.push_back(waiting);
  } catch (...) {
    entries_.resize(waiting.first);
    throw;
  }
}

BurstSample BurstQueue::BurstAt(size_t index) const {
  const Waiting& waiting = waiting_[index];
  BurstSample burst = waiting.burst;
  if (waiting.count == 0) return burst;
  const Entry* first = entries_.data() + waiting.first;
  burst.branches = {&first->branch, waiting.branches};
  burst.accesses = {&first[waiting.branches].access, waiting.count - waiting.branches};
  return burst;
}

void BurstQueue::Sort(Order order) {
  const auto before = [order](const Waiting& a, const Waiting& b) {
    const bool is_by_time = order == Order::kTime && a.burst.time_ns != b.burst.time_ns;
    return is_by_time ? a.burst.time_ns < b.burst.time_ns : a.first < b.first;
  };
  if (std::is_sorted(waiting_.begin(), waiting_.end(), before)) return;
  std::sort(waiting_.begin(), waiting_.end(), before);
}

void BurstQueue::Drop(size_t count) {
  if (count == 0) return;
  waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<ptrdiff_t>(count));
  Sort(Order::kArrival);
  size_t kept = 0;
  for (Waiting& waiting : waiting_) {
    const auto first = entries_.begin() + static_cast<ptrdiff_t>(waiting.first);
    std::copy(first, first + static_cast<ptrdiff_t>(waiting.count),
              entries_.begin() + static_cast<ptrdiff_t>(kept));
    waiting.first = kept;
    kept += waiting.count;
  }
  entries_.resize(kept);
}

void BurstQueue::Shrink() {
  waiting_.shrink_to_fit();
  entries_.shrink_to_fit();
}

}  // namespace hbbp
