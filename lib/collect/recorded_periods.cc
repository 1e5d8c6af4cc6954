#include "collect/recorded_periods.h"

#include "events/period.h"

namespace hbbp {

PeriodMode RecordedPeriods::ModeOf(uint64_t asked) const {
  if (asked == 0) return PeriodMode::kByFrequency;
  if (smallest_ != largest_) return PeriodMode::kRandom;
  return LargestPrimeUpTo(asked) == asked ? PeriodMode::kPrime : PeriodMode::kFixed;
}

}  // namespace hbbp
