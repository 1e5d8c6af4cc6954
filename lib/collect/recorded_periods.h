// RecordedPeriods finds out how the periods of an event were chosen, from those of its samples.
#ifndef HBBP_LIB_COLLECT_RECORDED_PERIODS_H_
#define HBBP_LIB_COLLECT_RECORDED_PERIODS_H_

#include <algorithm>
#include <cstdint>

#include "events/samples.h"

namespace hbbp {

class RecordedPeriods {
 public:
  void Add(uint64_t period) {
    smallest_ = largest_ == 0 ? period : std::min(smallest_, period);
    largest_ = std::max(largest_, period);
  }

  uint64_t smallest() const { return smallest_; }
  uint64_t largest() const { return largest_; }

  // `asked` is the period of the event; if it is 0, the kernel adapted periods to a frequency.
  PeriodMode ModeOf(uint64_t asked) const;

 private:
  uint64_t smallest_ = 0;
  uint64_t largest_ = 0;
};

}  // namespace hbbp

#endif  // HBBP_LIB_COLLECT_RECORDED_PERIODS_H_
