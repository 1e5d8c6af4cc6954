// Computes the standard error of sums over streams (profile/stream_sums.h).
//
// Bursts are independent, but the streams of a burst are not: in a loop, one burst crosses the same
// blocks many times. With x_k what burst k adds to a sum, the variance of the sum is that of a
// compound Poisson process, sum(x_k^2): for x_k = P it is that of EBS, where each sample is a burst
// of its own. (In the example there: 750^2 + 1000^2, so c = 1750 +- 1250.) But x_k is known only
// when the blocks are, long after the bursts were added up by stream, and squares kept by stream
// miss the correlation of the streams of one burst: they make the dispatch block of an interpreter
// look many times too certain, and their worst case makes malloc look many times too uncertain.
//
// So bursts are assigned at random to G = 16 replicates, and each sum is also kept by replicate.
// These sums add up over streams, blocks, functions, mnemonics and profiles as the counts do, and
// at any level their scatter gives the variance, including all correlations within bursts:
//
//   variance = G / (G - 1) * sum over g of (s_g - mean)^2
//
// Its expectation over the assignment is sum(x_k^2) exactly. It is an estimate itself: the standard
// error is known to 1 / sqrt(2 (G - 1)), 18 %, if many bursts contribute.
//
//   One burst that adds 750: s = {750, 0, ...}, mean 46.875, standard error 750. A second one that
//   adds 1000 makes it 1209.3 in another replicate and 1750 in the same, so the expected variance
//   is (15 * 1209.3^2 + 1750^2) / 16 = 1250^2.
#ifndef HBBP_LIB_ESTIMATE_STREAM_ESTIMATOR_H_
#define HBBP_LIB_ESTIMATE_STREAM_ESTIMATOR_H_

#include <cmath>

#include "estimate/count_estimate.h"
#include "profile/stream_sums.h"

namespace hbbp {

double VarianceOf(const ReplicateSums& replicates);

inline CountEstimate EstimateStreams(const StreamSums& sums) {
  return {sums.weights, std::sqrt(VarianceOf(sums.replicates))};
}

}  // namespace hbbp

#endif  // HBBP_LIB_ESTIMATE_STREAM_ESTIMATOR_H_
