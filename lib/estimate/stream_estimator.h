// Block counts from bursts of taken branches (software branch tracing, branch stacks).
//
// A burst of N taken branches, worth P events, holds N - 1 streams: the code from the target of one
// branch to the next branch. Each stream adds the weight P / (N - 1) to every block that it
// crosses, and c = the sum of the weights (Nowak et al., "Hybrid Basic Block Profiling", section
// IV). Every burst adds P in all, whatever its length.
//
//   Period 1000. A burst of 5 branches crosses a block in three of its streams, one of 3 branches
//   in both: c = 3 * 1000 / 4 + 2 * 1000 / 2 = 1750.
//
// Of the standard error. Bursts are independent, the streams of a burst are not: one that is in a
// loop crosses its blocks again and again. With x_k what burst k adds to a sum, the variance of the
// sum is that of a compound Poisson process, sum(x_k^2): for x_k = P it is that of EBS, where each
// sample is a burst of its own. (Above: 750^2 + 1000^2, so c = 1750 +- 1250.) But x_k is known only
// when the blocks are, long after the bursts were added up by stream, and squares kept by stream
// miss how streams of one burst go together: they make the dispatch block of an interpreter look
// many times too certain, and their worst case makes malloc look many times too uncertain.
//
// So bursts are dealt at random into G = 16 replicates, and each sum is also kept by replicate.
// These sums add up over streams, blocks, functions, mnemonics and profiles as the counts do, and
// at any level their scatter tells the variance, with all correlations within bursts in it:
//
//   variance = G / (G - 1) * sum over g of (s_g - mean)^2
//
// Its expectation over the dealing is sum(x_k^2) exactly. It is an estimate itself: the standard
// error is known to 1 / sqrt(2 (G - 1)), 18 %, if many bursts contribute.
//
//   One burst that adds 750: s = {750, 0, ...}, mean 46.875, standard error 750. A second one that
//   adds 1000 makes it 1209.3 in another replicate and 1750 in the same, so the expected variance
//   is (15 * 1209.3^2 + 1750^2) / 16 = 1250^2.
#ifndef HBBP_LIB_ESTIMATE_STREAM_ESTIMATOR_H_
#define HBBP_LIB_ESTIMATE_STREAM_ESTIMATOR_H_

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "estimate/count_estimate.h"

namespace hbbp {

inline constexpr size_t kReplicates = 16;

// A sum, by replicate.
struct ReplicateSums {
  // Single precision suffices for an error of an error.
  std::array<float, kReplicates> sums{};

  void Add(const ReplicateSums& more, double factor = 1) {
    for (size_t i = 0; i < kReplicates; ++i) {
      sums[i] += static_cast<float>(factor * static_cast<double>(more.sums[i]));
    }
  }
  bool operator==(const ReplicateSums&) const = default;
};

struct StreamSums {
  uint64_t streams = 0;
  double weights = 0;
  ReplicateSums replicates;

  void Add(const StreamSums& more) {
    streams += more.streams;
    weights += more.weights;
    replicates.Add(more.replicates);
  }
};

// Of each stream of a burst. A burst of fewer than two branches has none.
inline double StreamWeight(uint64_t period, size_t branches) {
  return branches < 2 ? 0 : static_cast<double>(period) / static_cast<double>(branches - 1);
}

// The replicate of a burst, by its number in the session: the same in every run, and as good as
// random, so that it has no relation to what the program does in turns.
size_t ReplicateOf(uint64_t burst_number);

double VarianceOf(const ReplicateSums& replicates);

inline CountEstimate EstimateStreams(const StreamSums& sums) {
  return {sums.weights, std::sqrt(VarianceOf(sums.replicates))};
}

}  // namespace hbbp

#endif  // HBBP_LIB_ESTIMATE_STREAM_ESTIMATOR_H_
