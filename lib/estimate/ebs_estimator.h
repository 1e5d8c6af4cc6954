// Estimates block counts from event-based sampling.
//
// Every sample counts for the whole block it falls in: with samples of periods P_i in a block of l
// instructions, c = sum(P_i) / l executions (Nowak et al., "Hybrid Basic Block Profiling", section
// III). The samples of a block are Poisson, so that sum(P_i) has the variance sum(P_i^2), and c the
// standard error sqrt(sum(P_i^2)) / l.
//
//   9 samples of period 1000 in a block of 4 instructions: c = 2250, standard error 750.
#ifndef HBBP_LIB_ESTIMATE_EBS_ESTIMATOR_H_
#define HBBP_LIB_ESTIMATE_EBS_ESTIMATOR_H_

#include <cmath>
#include <cstdint>

#include "estimate/count_estimate.h"

namespace hbbp {

// `instruction_count` must not be 0.
inline CountEstimate EstimateEbs(double period_sum, double period_squares,
                                 uint32_t instruction_count) {
  return {period_sum / instruction_count, std::sqrt(period_squares) / instruction_count};
}

}  // namespace hbbp

#endif  // HBBP_LIB_ESTIMATE_EBS_ESTIMATOR_H_
