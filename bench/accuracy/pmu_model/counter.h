// SIMULATION: one counter, and the sample that follows each of its overflows.
#ifndef HBBP_BENCH_ACCURACY_PMU_MODEL_COUNTER_H_
#define HBBP_BENCH_ACCURACY_PMU_MODEL_COUNTER_H_

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "events/period.h"
#include "pmu_model/parameters.h"
#include "pmu_model/pmu.h"
#include "pmu_model/random.h"

namespace hbbp::simulation {

class Counter {
 public:
  Counter(const EventParameters& event, const PmuParameters& parameters, uint64_t seed)
      : event_(event), parameters_(parameters), random_(seed), draw_(random_.Bits()) {
    const uint64_t period = std::max<uint64_t>(event.counter.period, 1);
    nominal_ = event.counter.period_mode == PeriodMode::kPrime && period > 1
                   ? LargestPrimeUpTo(period)
                   : period;
    period_ = nominal_;
    remaining_ = event.counter.phase;
    if (remaining_ == 0) Overflow(0);
  }

  // Call it before the instruction at `address` retires in `cycle`. It calls record(ip, period,
  // is_exact) if a sample is complete.
  template <typename Record>
  void BeforeInstruction(uint64_t address, uint64_t cycle, Record record) {
    if (has_captured_) {
      has_captured_ = false;
      record(address, captured_period_, false);
    }
    if (!is_waiting_ || (!is_at_once_ && cycle < due_)) return;
    is_waiting_ = false;
    if (event_.capture == Capture::kPebs && parameters_.reports_next_ip) {
      has_captured_ = true;
      captured_period_ = waiting_period_;
    } else {
      record(address, waiting_period_, event_.capture != Capture::kInterrupt);
    }
  }

  // Counts an event that happened in `cycle`.
  void Count(uint64_t cycle) {
    if (--remaining_ == 0) Overflow(cycle);
  }

  CountedEvent counted() const { return event_.counted; }
  bool with_stack() const { return event_.with_stack; }
  uint64_t dropped() const { return dropped_; }
  // Ends the trace, after which control went to `address`. A pending interrupt still comes.
  template <typename Record>
  void End(uint64_t address, Record record) {
    if (has_captured_) record(address, captured_period_, false);
    if (!is_waiting_) return;
    const bool is_interrupt = event_.counted == CountedEvent::kTakenBranches;
    if (is_interrupt) {
      record(address, waiting_period_, false);
    } else {
      ++dropped_;
    }
  }

 private:
  void Overflow(uint64_t cycle) {
    const uint64_t period = period_;
    remaining_ = Next();
    if (is_waiting_) {
      ++dropped_;
      return;
    }
    const uint64_t delay = Delay();
    is_waiting_ = true;
    is_at_once_ = delay == 0;
    due_ = cycle + delay;
    waiting_period_ = period;
  }

  // Returns the number of events to the next overflow, and sets period_ to what its sample stands
  // for.
  uint64_t Next() {
    switch (event_.counter.period_mode) {
      case PeriodMode::kRandom:
        if (samples_ % event_.counter.samples_by_draw == 0) period_ = draw_.Next(nominal_);
        ++samples_;
        return std::max<uint64_t>(period_, 1);
      case PeriodMode::kPoisson:
        // An exponential distribution of this mean, rounded down, has the mean nominal_ - 1.
        return 1 + static_cast<uint64_t>(random_.Exponential(
                       -1 / std::log1p(-1 / std::max(static_cast<double>(nominal_), 1.001))));
      default:
        return period_;
    }
  }

  uint64_t Delay() {
    double cycles = 0;
    switch (event_.capture) {
      case Capture::kPebs:
        return parameters_.pebs_shadow_cycles;
      case Capture::kPreciseDist:
        return parameters_.precise_dist_shadow_cycles;
      case Capture::kInterrupt:
        if (event_.counted == CountedEvent::kTakenBranches) {
          cycles = parameters_.lbr_skid_cycles + Spread(parameters_.lbr_skid_spread_cycles);
        } else {
          cycles = parameters_.skid_cycles + Spread(parameters_.skid_spread_cycles);
        }
        break;
    }
    constexpr double kLongest = 1e12;
    return cycles > 0 ? static_cast<uint64_t>(std::lround(std::min(cycles, kLongest))) : 0;
  }

  double Spread(double mean) { return mean > 0 ? random_.Exponential(mean) : 0; }

  EventParameters event_;
  const PmuParameters& parameters_;
  Random random_;
  PeriodDraw draw_;
  uint64_t nominal_ = 1;
  uint64_t period_ = 1;  // the current one
  uint64_t remaining_ = 0;
  uint64_t samples_ = 0;  // that have random periods
  bool is_waiting_ = false, is_at_once_ = false, has_captured_ = false;
  uint64_t due_ = 0;
  uint64_t waiting_period_ = 0, captured_period_ = 0;
  uint64_t dropped_ = 0;
};

}  // namespace hbbp::simulation

#endif  // HBBP_BENCH_ACCURACY_PMU_MODEL_COUNTER_H_
