#include "estimate/error_metrics.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "estimate/count_interval.h"

namespace hbbp {
namespace {

double DivideByReference(double difference, double reference) {
  if (reference > 0) return difference / reference;
  return difference > 0 ? std::numeric_limits<double>::infinity() : 0;
}

}  // namespace

double RelativeError(double reference, double estimate) {
  return DivideByReference(std::abs(reference - estimate), reference);
}

double AverageWeightedError(std::span<const CountPair> counts) {
  double difference = 0;
  double reference = 0;
  for (const CountPair& count : counts) {
    difference += std::abs(count.reference - count.estimate);
    reference += count.reference;
  }
  return DivideByReference(difference, reference);
}

double BlockAccuracyError(std::span<const BlockCountPair> blocks) {
  double difference = 0;
  double reference = 0;
  for (const BlockCountPair& block : blocks) {
    difference += std::abs(block.reference - block.estimate) * block.instruction_count;
    reference += block.reference * block.instruction_count;
  }
  return DivideByReference(difference, reference);
}

IntervalCoverage CountIntervals(std::span<const BlockCountPair> blocks) {
  IntervalCoverage coverage;
  for (const BlockCountPair& block : blocks) {
    if (block.standard_error <= 0) continue;
    ++coverage.intervals;
    const CountInterval interval = IntervalOf({block.estimate, block.standard_error});
    if (interval.Contains(block.reference)) ++coverage.covering;
  }
  return coverage;
}

double Overlap(std::span<const CountPair> counts) {
  double reference = 0;
  double estimate = 0;
  for (const CountPair& count : counts) {
    reference += count.reference;
    estimate += count.estimate;
  }
  if (reference <= 0 && estimate <= 0) return 1;
  if (reference <= 0 || estimate <= 0) return 0;
  double overlap = 0;
  for (const CountPair& count : counts) {
    overlap += std::min(count.reference / reference, count.estimate / estimate);
  }
  return overlap;
}

double BlockOverlap(std::span<const BlockCountPair> blocks) {
  std::vector<CountPair> instructions;
  instructions.reserve(blocks.size());
  for (const BlockCountPair& block : blocks) {
    instructions.push_back(
        {block.reference * block.instruction_count, block.estimate * block.instruction_count});
  }
  return Overlap(instructions);
}

}  // namespace hbbp
