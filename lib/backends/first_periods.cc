#include "backends/first_periods.h"

namespace hbbp {

bool FirstPeriods::TakesFirst(pid_t tid) {
  const bool takes = sampled_.size() < kMaxThreads && sampled_.insert(tid).second;
  if (takes) had_first_.insert(tid);
  return takes;
}

bool FirstPeriods::TakesRegular(pid_t tid, bool is_drawn) {
  if (sampled_.size() < kMaxThreads) sampled_.insert(tid);
  return had_first_.erase(tid) == 0 || is_drawn;
}

void FirstPeriods::AddThread(pid_t tid) {
  sampled_.erase(tid);
  had_first_.erase(tid);
}

void FirstPeriods::Clear() {
  sampled_.clear();
  had_first_.clear();
}

}  // namespace hbbp
