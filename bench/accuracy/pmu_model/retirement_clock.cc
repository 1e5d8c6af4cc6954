#include "pmu_model/retirement_clock.h"

#include <algorithm>

namespace hbbp::simulation {

RetirementClock::RetirementClock(const ClockParameters& parameters, uint64_t seed)
    : parameters_(parameters), random_(seed), window_(std::max(parameters.window, 1U)) {
  parameters_.issue_width = std::max(parameters_.issue_width, 1U);
  parameters_.retire_width = std::max(parameters_.retire_width, 1U);
}

uint64_t RetirementClock::Retire(InstructionClass kind) {
  if (started_in_cycle_ == parameters_.issue_width) {
    ++start_cycle_;
    started_in_cycle_ = 0;
  }
  if (window_[next_in_window_] > start_cycle_) {
    start_cycle_ = window_[next_in_window_];
    started_in_cycle_ = 0;
  }
  ++started_in_cycle_;

  uint64_t start = start_cycle_;
  uint64_t latency = parameters_.latency[static_cast<size_t>(kind)];
  switch (kind) {
    case InstructionClass::kLoad:
      if (random_.Chance(parameters_.load_miss_chance)) latency += parameters_.load_miss_cycles;
      break;
    case InstructionClass::kDivide:
    case InstructionClass::kSquareRoot:
      start = std::max(start, divider_free_);
      divider_free_ = start + latency;
      break;
    case InstructionClass::kSerialise:
      start = std::max(start, retire_cycle_);
      start_cycle_ = start + latency;
      started_in_cycle_ = 0;
      break;
    default:
      break;
  }
  completed_ = start + latency;

  if (completed_ > retire_cycle_) {
    retire_cycle_ = completed_;
    retired_in_cycle_ = 0;
  } else if (retired_in_cycle_ == parameters_.retire_width) {
    ++retire_cycle_;
    retired_in_cycle_ = 0;
  }
  ++retired_in_cycle_;
  window_[next_in_window_] = retire_cycle_;
  if (++next_in_window_ == window_.size()) next_in_window_ = 0;
  return retire_cycle_;
}

void RetirementClock::Mispredicted() {
  const uint64_t restart = completed_ + parameters_.misprediction_cycles;
  if (restart <= start_cycle_) return;
  start_cycle_ = restart;
  started_in_cycle_ = 0;
}

}  // namespace hbbp::simulation
