// CorrelatedSums holds several sums over the same observations, with their covariance, and computes
// ratios of them with their errors.
//
// An observation of a block that ran c +- s times adds a_i c to sum i, with a_i what one execution
// adds. The error of an observation affects all sums together, so the covariance of the sums i and
// j is
//
//   C_ij = sum over blocks of a_i a_j s^2                          of what IP samples counted
//        + G / (G - 1) * sum over replicates of (d_ig)(d_jg)       of what streams counted,
//
// d_ig being the sum i of the replicate g minus its mean (estimate/stream_estimator.h). The error
// of a ratio r = x_i / x_j follows by the delta method, that of x_i - r x_j by x_j:
//
//   variance of r = (C_ii - 2 r C_ij + r^2 C_jj) / x_j^2
//
//   A block that ran 100 +- 10 times has 3 loads among 6 instructions, another that ran 50 +- 5
//   times has none among 4. r = 300 / 800 = 0.375, and its error is
//   sqrt((3 - 0.375 * 6)^2 10^2 + (0.375 * 4)^2 5^2) / 800 = 0.0133.
#ifndef HBBP_LIB_MIX_CORRELATED_SUMS_H_
#define HBBP_LIB_MIX_CORRELATED_SUMS_H_

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "estimate/count_estimate.h"
#include "estimate/stream_estimator.h"

namespace hbbp {

class CorrelatedSums {
 public:
  explicit CorrelatedSums(size_t sums)
      : values_(sums), covariances_(sums * sums), replicates_(sums) {}

  // Adds `amounts`, one for each sum, times the executions. The error of these is independent of
  // all other additions.
  void Add(std::span<const double> amounts, const CountEstimate& executions);
  void Add(std::span<const double> amounts, double executions, const ReplicateSums& replicates);

  CountEstimate Sum(size_t sum) const;
  // Returns nothing if the whole is 0.
  std::optional<CountEstimate> Ratio(size_t part, size_t whole) const;

 private:
  double CovarianceOfSamples(size_t i, size_t j) const {
    return i <= j ? covariances_[i * values_.size() + j] : covariances_[j * values_.size() + i];
  }
  // Adds to values_, and collects the indices of amounts that are not 0.
  void AddValues(std::span<const double> amounts, double executions);

  std::vector<double> values_;
  std::vector<double> covariances_;  // from IP samples, for i <= j
  std::vector<ReplicateSums> replicates_;
  std::vector<size_t> used_;  // indices of the current amounts that are not 0
};

}  // namespace hbbp

#endif  // HBBP_LIB_MIX_CORRELATED_SUMS_H_
