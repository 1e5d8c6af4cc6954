#include "estimate/stream_estimator.h"

namespace hbbp {

size_t ReplicateOf(uint64_t burst_number) {
  // splitmix64
  uint64_t mixed = (burst_number + 1) * 0x9E3779B97F4A7C15ull;
  mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9ull;
  mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EBull;
  return (mixed ^ (mixed >> 31)) % kReplicates;
}

double VarianceOf(const ReplicateSums& replicates) {
  constexpr double kCount = kReplicates;
  double mean = 0;
  for (const float sum : replicates.sums) mean += static_cast<double>(sum) / kCount;
  double squares = 0;
  for (const float sum : replicates.sums) {
    const double deviation = static_cast<double>(sum) - mean;
    squares += deviation * deviation;
  }
  return kCount / (kCount - 1) * squares;
}

}  // namespace hbbp
