#include "estimate/trip_counts.h"

#include <algorithm>
#include <cmath>

namespace hbbp {
namespace {

// The error of the correction for speed, one sigma, as a fraction of it.
constexpr double kCorrectionError = 0.1;
constexpr double kCorrectionErrorWithCalls = 0.5;
constexpr double kRounding = 1e-9;

ReplicatedCount Sum(const ReplicatedCount& a, const ReplicatedCount& b, double factor) {
  ReplicatedCount sum = a;
  sum.Add(b, factor);
  return sum;
}

// Replicates are meaningless with one burst, or with few that were assigned to the same replicates.
TripCount Divide(const ReplicatedCount& iterations, const ReplicatedCount& divisor) {
  TripCount count{ComputeRatio(iterations, divisor), divisor};
  const auto& sums = divisor.replicates.sums;
  if (std::count(sums.begin(), sums.end(), 0.0f) == kReplicates - 1) {
    count.trips.standard_error = std::hypot(count.trips.standard_error, count.trips.value);
  }
  return count;
}

// Returns by how much entries exceed exits, or exits entries, beyond chance.
double Imbalance(const LoopFlow& flow) {
  const ReplicatedCount difference = Sum(flow.exits, flow.entries, -1);
  return std::max(std::abs(difference.count) - difference.StandardError(), 0.0);
}

}  // namespace

TripCount CountTrips(const LoopFlow& flow) {
  // The length of a burst in iterations must be known too.
  if (!(flow.iterations.count > 0)) return {};
  // This bounds the rounding errors of sums of weights that should be 0.
  const double nothing = kRounding * flow.iterations.count;
  if (!(flow.exits.count > nothing)) {
    // The loop was left too rarely, in a way that is not observed, or never.
    if (!(flow.entries.count > nothing)) return {};
    TripCount by_entries = Divide(flow.iterations, flow.entries);
    by_entries.trips.standard_error =
        std::hypot(by_entries.trips.standard_error, by_entries.trips.value);
    return by_entries;
  }
  const ReplicatedCount excess = Sum(flow.exits, flow.entries, -1);
  const ReplicatedCount both = Sum(flow.exits, flow.entries, 1);
  const double by_burst = std::max(flow.iterations_by_burst, 1.0);
  TripCount whole = Divide(Sum(flow.iterations, excess, 0.5), Sum({}, both, 0.5));
  if (whole.trips.value <= by_burst) {
    // Visits that are shorter than a burst are observed to begin and to end about equally often.
    const double more = std::max(flow.entries.count, flow.exits.count);
    whole.trips.standard_error =
        std::hypot(whole.trips.standard_error, whole.trips.value * Imbalance(flow) / more);
    return whole;
  }
  const double correction = (by_burst + 1) / 2;
  TripCount in_part = Divide(Sum(flow.iterations, excess, correction), flow.exits);
  const double error = flow.has_calls ? kCorrectionErrorWithCalls : kCorrectionError;
  in_part.trips.standard_error = std::hypot(
      in_part.trips.standard_error, error * correction * Imbalance(flow) / flow.exits.count);
  return in_part;
}

}  // namespace hbbp
