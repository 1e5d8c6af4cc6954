#include "backends/first_periods.h"

#include <climits>
#include <cstddef>

namespace hbbp {
namespace {

void EraseThread(pid_t tid, std::set<std::pair<pid_t, int>>* keys) {
  keys->erase(keys->lower_bound({tid, INT_MIN}), keys->upper_bound({tid, INT_MAX}));
}

}  // namespace

// Threads that have ended stay until then. One that lives has its next sample of the event itself.
void FirstPeriods::LimitSize() {
  constexpr size_t kMaxKeys = 1 << 16;
  if (sampled_.size() >= kMaxKeys) Clear();
}

bool FirstPeriods::TakesFirst(pid_t tid, int cpu) {
  LimitSize();
  const bool takes = sampled_.insert({tid, cpu}).second;
  if (takes) had_first_.insert({tid, cpu});
  return takes;
}

bool FirstPeriods::TakesRegular(pid_t tid, int cpu, bool is_drawn) {
  LimitSize();
  sampled_.insert({tid, cpu});
  return had_first_.erase({tid, cpu}) == 0 || is_drawn;
}

bool FirstPeriods::HasSample(pid_t tid) const {
  const auto found = sampled_.lower_bound({tid, INT_MIN});
  return found != sampled_.end() && found->first == tid;
}

void FirstPeriods::AddThread(pid_t tid) {
  EraseThread(tid, &sampled_);
  EraseThread(tid, &had_first_);
}

void FirstPeriods::Clear() {
  sampled_.clear();
  had_first_.clear();
}

}  // namespace hbbp
