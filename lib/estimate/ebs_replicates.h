// The replicates of a count from event-based sampling, dealt when they are asked for.
//
// Samples are independent of each other, so it makes no difference whether they are dealt into the
// replicates of stream_estimator.h when they are taken or when they are analysed, and profiles need
// not store that. Dealing n samples leaves n_g in replicate g, with Binomial marginals; each is
// worth the mean period p, and deviations are stretched by sqrt(n sum(p^2)) / sum(p), so that
//
//   sum over g of s_g = sum(p)   and   E[VarianceOf(s)] = sum(p^2)
//
// also if periods differ.
//
//   4 samples of period 1000: s = {1000, 0, 2000, 0, ..., 1000} for one, a variance of about 4e6.
#ifndef HBBP_LIB_ESTIMATE_EBS_REPLICATES_H_
#define HBBP_LIB_ESTIMATE_EBS_REPLICATES_H_

#include <cstdint>

#include "estimate/stream_estimator.h"

namespace hbbp {

// The same for the same `seed`; samples that were counted apart need seeds of their own, such as a
// hash of their address, thread and source. All 0 without samples or with a period_sum of 0.
ReplicateSums DealSamples(uint64_t samples, double period_sum, double period_squares,
                          uint64_t seed);

}  // namespace hbbp

#endif  // HBBP_LIB_ESTIMATE_EBS_REPLICATES_H_
