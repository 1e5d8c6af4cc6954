#include "estimate/stream_estimator.h"

#include "estimate/random_bits.h"

namespace hbbp {

size_t ReplicateOf(uint64_t burst_number) {
  return RandomBits(burst_number * RandomBits::kStep).Next() % kReplicates;
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
