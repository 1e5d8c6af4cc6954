#include "mix/correlated_sums.h"

#include <cmath>

#include "mix/ratio_error.h"

namespace hbbp {

void CorrelatedSums::AddValues(std::span<const double> amounts, double executions) {
  used_.clear();
  for (size_t i = 0; i < amounts.size(); ++i) {
    if (amounts[i] == 0) continue;
    values_[i] += amounts[i] * executions;
    used_.push_back(i);
  }
}

void CorrelatedSums::Add(std::span<const double> amounts, const CountEstimate& executions) {
  AddValues(amounts, executions.count);
  const double variance = executions.standard_error * executions.standard_error;
  for (size_t i = 0; i < used_.size(); ++i) {
    const double factor = amounts[used_[i]] * variance;
    double* const row = &covariances_[used_[i] * values_.size()];
    for (size_t j = i; j < used_.size(); ++j) row[used_[j]] += factor * amounts[used_[j]];
  }
}

void CorrelatedSums::Add(std::span<const double> amounts, double executions,
                         const ReplicateSums& replicates) {
  AddValues(amounts, executions);
  for (const size_t i : used_) replicates_[i].Add(replicates, amounts[i]);
}

CountEstimate CorrelatedSums::Sum(size_t sum) const {
  return {values_[sum], std::sqrt(CovarianceOfSamples(sum, sum) + VarianceOf(replicates_[sum]))};
}

std::optional<CountEstimate> CorrelatedSums::Ratio(size_t part, size_t whole) const {
  if (!(values_[whole] > 0)) return std::nullopt;
  const double ratio = values_[part] / values_[whole];
  ReplicateSums differences = replicates_[part];
  differences.Add(replicates_[whole], -ratio);
  const double of_samples =
      VarianceOfDifference(CovarianceOfSamples(part, part), CovarianceOfSamples(part, whole),
                           CovarianceOfSamples(whole, whole), ratio);
  return CountEstimate{ratio, std::sqrt(of_samples + VarianceOf(differences)) / values_[whole]};
}

}  // namespace hbbp
