// Assigns the samples of event-based sampling to replicates, when they are needed.
//
// Samples are independent of each other, so they can be assigned to the replicates of
// stream_estimator.h when they are taken or when they are analysed, and profiles need not store the
// assignment. Of n samples, n_g are assigned to replicate g, with Binomial marginals; each has the
// mean period p, and deviations are stretched by sqrt(n sum(p^2)) / sum(p), so that
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

// The result depends on `seed`: samples that were counted separately need different seeds, such as
// a hash of their address, thread and source. It is all 0 without samples or with a period_sum of
// 0.
ReplicateSums AssignReplicates(uint64_t samples, double period_sum, double period_squares,
                               uint64_t seed);

}  // namespace hbbp

#endif  // HBBP_LIB_ESTIMATE_EBS_REPLICATES_H_
