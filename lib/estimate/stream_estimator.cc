#include "estimate/stream_estimator.h"

namespace hbbp {

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
