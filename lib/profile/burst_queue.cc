#include "profile/burst_queue.h"

#include <algorithm>
#include <utility>

namespace hbbp {

void BurstQueue::Add(const BurstSample& burst) {
  waiting_.push_back({burst.time_ns, burst.period, burst.pid, burst.tid, burst.source,
                      branches_.size(), burst.branches.size(), burst.stack});
  branches_.insert(branches_.end(), burst.branches.begin(), burst.branches.end());
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
  burst.branches = std::span(branches_).subspan(waiting.first, waiting.count);
  return burst;
}

void BurstQueue::SortByTime() {
  const auto before = [](const Waiting& a, const Waiting& b) {
    return std::pair(a.time_ns, a.first) < std::pair(b.time_ns, b.first);
  };
  if (std::is_sorted(waiting_.begin(), waiting_.end(), before)) return;
  std::sort(waiting_.begin(), waiting_.end(), before);
}

void BurstQueue::Drop(size_t count) {
  if (count == 0) return;
  waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<ptrdiff_t>(count));
  std::vector<TakenBranchSample> kept;
  for (Waiting& waiting : waiting_) {
    const auto first = branches_.begin() + static_cast<ptrdiff_t>(waiting.first);
    waiting.first = kept.size();
    kept.insert(kept.end(), first, first + static_cast<ptrdiff_t>(waiting.count));
  }
  if (kept.empty()) {
    branches_.clear();
  } else {
    branches_ = std::move(kept);
  }
}

}  // namespace hbbp
