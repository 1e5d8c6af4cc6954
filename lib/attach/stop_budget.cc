#include "attach/stop_budget.h"

#include <algorithm>

namespace hbbp {
namespace {

constexpr double kScansOfMean = 8;
// The costs may take one part in so many of the CPU time.
constexpr double kCostDivisor = 200;
// A process that uses less is taken for idle.
constexpr double kMinUsedShare = 1e-4;

void AddToMean(uint64_t value, bool is_first, double* mean) {
  const auto number = static_cast<double>(value);
  *mean = is_first ? number : *mean + (number - *mean) / kScansOfMean;
}

}  // namespace

void StopBudget::AddScan(uint64_t cost_ns, uint64_t used_ns, uint64_t elapsed_ns) {
  const bool is_first = elapsed_ns_ == 0;
  AddToMean(cost_ns, is_first, &cost_ns_);
  AddToMean(used_ns, is_first, &used_ns_);
  AddToMean(elapsed_ns, is_first, &elapsed_ns_);
}

uint64_t StopBudget::PeriodNs() const {
  if (elapsed_ns_ == 0) return kMinPeriodNs;
  const double used_share = used_ns_ / elapsed_ns_;
  if (used_share < kMinUsedShare) return kIdlePeriodNs;
  const double period_ns = cost_ns_ * kCostDivisor / used_share;
  return static_cast<uint64_t>(
      std::clamp(period_ns, static_cast<double>(kMinPeriodNs), static_cast<double>(kMaxPeriodNs)));
}

}  // namespace hbbp
