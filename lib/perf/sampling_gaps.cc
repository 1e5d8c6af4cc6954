#include "perf/sampling_gaps.h"

#include <algorithm>

namespace hbbp {
namespace {

constexpr uint64_t kMaxTickNs = 10'000'000;  // of Linux with CONFIG_HZ=100
// A sample is late if it comes later than its period takes by this factor.
constexpr double kLate = 2;

}  // namespace

SamplingGaps::Counter* SamplingGaps::Find(uint64_t counter) {
  if (counters_.size() >= kMaxCounters && !counters_.contains(counter)) return nullptr;
  return &counters_[counter];
}

uint64_t SamplingGaps::AddSample(uint64_t counter, uint64_t time_ns, uint64_t period) {
  const auto own = static_cast<double>(period);
  own_periods_ += own;
  ++samples_;
  const double room = static_cast<double>(UINT64_MAX - period) / 4;
  double exact = TakeLost(own, room);
  if (Counter* const found = time_ns == 0 ? nullptr : Find(counter); found != nullptr) {
    exact += TakeMissing(found, time_ns, own, room);
  }
  const auto added = static_cast<uint64_t>(exact + rest_);
  rest_ += exact - static_cast<double>(added);
  added_periods_ += static_cast<double>(added);
  return period + added;
}

double SamplingGaps::TakeLost(double period, double room) {
  periods_since_loss_ += period;
  if (lost_ == 0) return 0;
  const double taken = std::min({lost_, period * lost_per_period_, room});
  lost_ -= taken;
  return taken;
}

void SamplingGaps::AddLost(uint64_t samples) {
  if (samples_ == 0) return;
  lost_ += static_cast<double>(samples) * own_periods_ / static_cast<double>(samples_);
  if (periods_since_loss_ != 0) periods_before_loss_ = periods_since_loss_;
  lost_per_period_ = std::max(1.0, lost_ / periods_before_loss_);
  periods_since_loss_ = 0;
}

double SamplingGaps::TakeMissing(Counter* counter, uint64_t time_ns, double own, double room) {
  Counter& state = *counter;
  const bool is_first = state.first_ns == 0;
  if (is_first) state.first_ns = time_ns;
  const bool is_first_behind_gap = state.recent_periods == 0 && state.density != 0;
  const auto since_gap_ns = static_cast<double>(time_ns - std::min(time_ns, state.recent_start_ns));
  const bool is_late = is_first_behind_gap && since_gap_ns * state.density > kLate * own;
  if (is_late && time_ns <= state.last_ns + kMaxTickNs) {
    state.late_since_ns = state.recent_start_ns;
    state.late_period = own;
  }
  if (is_first || is_late || time_ns > state.last_ns + kMaxTickNs) {
    // Its period is of a time in which the program may have slept.
    state.recent_start_ns = time_ns;
    state.recent_periods = 0;
  } else {
    if (time_ns > state.recent_start_ns + kMaxTickNs) {
      state.recent_start_ns = state.last_ns;
      state.recent_periods = 0;
    }
    state.recent_periods += own;
  }
  state.last_ns = std::max(state.last_ns, time_ns);
  const double taken = std::min({state.missing, own * state.missing_per_period, room});
  state.missing -= taken;
  return taken;
}

void SamplingGaps::BeginGap(uint64_t counter, uint64_t time_ns) {
  if (Counter* const state = Find(counter)) state->gap_start_ns = time_ns;
}

void SamplingGaps::EndGap(uint64_t counter, uint64_t time_ns) {
  Counter* const found = Find(counter);
  if (found == nullptr) return;
  Counter& state = *found;
  const uint64_t start_ns = state.gap_start_ns;
  if (start_ns == 0 || time_ns < start_ns) return;
  const uint64_t gap_ns = std::min(time_ns - start_ns, kMaxTickNs);
  state.gap_start_ns = 0;
  if (state.first_ns == 0) return;
  state.gaps_ns += gap_ns;
  // The gap belongs to the time of the samples, even if none comes behind it.
  state.last_ns = std::max(state.last_ns, time_ns);
  if (state.recent_periods == 0 && state.late_period != 0) {
    // There is nothing else to judge by.
    state.recent_start_ns = state.late_since_ns;
    state.recent_periods = state.late_period;
  }
  state.late_period = 0;
  if (start_ns > state.recent_start_ns && state.recent_periods > 0) {
    state.density = state.recent_periods / static_cast<double>(start_ns - state.recent_start_ns);
    state.missing += state.density * static_cast<double>(gap_ns);
    state.missing_per_period = state.missing / state.recent_periods;
  }
  state.recent_start_ns = time_ns;
  state.recent_periods = 0;
}

double SamplingGaps::MissingShare() const {
  uint64_t gaps_ns = 0, span_ns = 0;
  for (const auto& [counter, state] : counters_) {
    if (state.first_ns == 0) continue;
    gaps_ns += state.gaps_ns;
    span_ns += state.last_ns - state.first_ns;
  }
  if (span_ns == 0) return 0;
  return std::min(1.0, static_cast<double>(gaps_ns) / static_cast<double>(span_ns));
}

double SamplingGaps::Factor() const {
  return own_periods_ == 0 ? 1 : (own_periods_ + added_periods_) / own_periods_;
}

}  // namespace hbbp
