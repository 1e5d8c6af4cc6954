#include "session/overhead_budget.h"

#include <algorithm>

namespace hbbp {
namespace {

// A change costs something itself, so it goes a little farther than it must, but never too far.
constexpr double kMargin = 1.5;
constexpr double kLargestStep = 16;
// After too much was used, only this part of the budget may be: the rest pays for that.
constexpr double kInDebt = 0.75;
// Below this part of the budget there is room for twice as many samples.
constexpr double kQuiet = 0.3;

double CostShare(const OverheadBudget::Usage& from, const OverheadBudget::Usage& to) {
  if (to.cpu_ns <= from.cpu_ns) return 0;
  return static_cast<double>(to.cost_ns - from.cost_ns) /
         static_cast<double>(to.cpu_ns - from.cpu_ns);
}

}  // namespace

// Charges, of what longer periods do not save, no more than leaves half of the budget to samples:
// else there would soon be none, and the cost would be the same.
double OverheadBudget::ChargedShare(const Usage& from, const Usage& to) const {
  constexpr double kMaxFixed = 0.5;
  if (to.cpu_ns <= from.cpu_ns) return 0;
  const double fixed = static_cast<double>(to.fixed_ns - from.fixed_ns) /
                       static_cast<double>(to.cpu_ns - from.cpu_ns);
  return CostShare(from, to) - std::max(0.0, fixed - kMaxFixed * share_);
}

void OverheadBudget::Restart() {
  last_ = {};
  factor_ = 1;
  recent_ = 0;
  quiet_spans_ = 0;
  quiet_spans_needed_ = kMinQuietSpans;
}

bool OverheadBudget::Judge(const Usage& usage) {
  if (usage.cpu_ns < last_.cpu_ns + kMinSpanNs) return false;
  recent_ = CostShare(last_, usage);
  const double charged = ChargedShare(last_, usage);
  last_ = usage;
  if (share_ == 0) return false;
  const double old = factor_;
  const bool is_in_debt = ChargedShare({}, usage) > share_;
  if (charged > share_ || (is_in_debt && charged > kInDebt * share_)) {
    const double step = std::clamp(kMargin * charged / share_, kMargin, kLargestStep);
    factor_ = std::min(factor_ * step, kMaxFactor);
  }
  const bool is_quiet = charged < kQuiet * share_ && !is_in_debt;
  quiet_spans_ = is_quiet ? quiet_spans_ + 1 : 0;
  if (quiet_spans_ >= quiet_spans_needed_ && factor_ > 1) {
    quiet_spans_ = 0;
    quiet_spans_needed_ = std::min(2 * quiet_spans_needed_, kMaxQuietSpans);
    factor_ = std::max(factor_ / 2, 1.0);
  }
  return factor_ != old;
}

}  // namespace hbbp
