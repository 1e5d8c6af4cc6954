#include "collect/burst_queue.h"

#include <algorithm>
#include <utility>

namespace hbbp {

void BurstQueue::Add(const BurstSample& burst) {
  const size_t first = branches_.size();
  branches_.insert(branches_.end(), burst.branches.begin(), burst.branches.end());
  try {
    waiting_.push_back({burst.time_ns, burst.period, burst.pid, burst.tid, burst.source, first,
                        burst.branches.size(), burst.stack, burst.extent, burst.repeats});
  } catch (...) {
    branches_.resize(first);
    throw;
  }
}

BurstSample BurstQueue::BurstAt(size_t index) const {
  const Waiting& waiting = waiting_[index];
  BurstSample burst;
  burst.pid = waiting.pid;
  burst.tid = waiting.tid;
  burst.time_ns = waiting.time_ns;
  burst.period = waiting.period;
  burst.source = waiting.source;
  burst.stack = waiting.stack;
  burst.extent = waiting.extent;
  burst.repeats = waiting.repeats;
  burst.branches = std::span(branches_).subspan(waiting.first, waiting.count);
  return burst;
}

void BurstQueue::Sort(Order order) {
  const auto before = [order](const Waiting& a, const Waiting& b) {
    const bool is_by_time = order == Order::kTime && a.time_ns != b.time_ns;
    return is_by_time ? a.time_ns < b.time_ns : a.first < b.first;
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
    const auto first = branches_.begin() + static_cast<ptrdiff_t>(waiting.first);
    std::copy(first, first + static_cast<ptrdiff_t>(waiting.count),
              branches_.begin() + static_cast<ptrdiff_t>(kept));
    waiting.first = kept;
    kept += waiting.count;
  }
  branches_.resize(kept);
}

void BurstQueue::Shrink() {
  waiting_.shrink_to_fit();
  branches_.shrink_to_fit();
}

}  // namespace hbbp
