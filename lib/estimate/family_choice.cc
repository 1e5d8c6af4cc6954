#include "estimate/family_choice.h"

#include <cmath>

namespace hbbp {

FamilyScales FindScales(const FamilyEvidence& ebs, const FamilyEvidence& streams) {
  const bool are_both = ebs.is_observed && streams.is_observed;
  if (!are_both || (ebs.counts_executions && streams.counts_executions)) return {};
  FamilyScales scales;
  if (ebs.counts_executions) {
    scales.streams = ebs.instructions / streams.instructions;
  } else {
    scales.ebs = streams.instructions / ebs.instructions;
  }
  const auto is_scale = [](double scale) { return std::isfinite(scale) && scale > 0; };
  if (is_scale(scales.ebs) && is_scale(scales.streams)) return scales;
  return {.are_common = false};
}

EstimatorKind EstimatorFor(EstimatorKind requested, const FamilyEvidence& ebs,
                           const FamilyEvidence& streams) {
  if (requested != EstimatorKind::kAuto) return requested;
  if (!streams.is_observed && ebs.is_observed) return EstimatorKind::kEbs;
  const bool are_alike =
      ebs.is_observed && ebs.counts_executions && streams.is_observed && streams.counts_executions;
  return are_alike && streams.suits_flow ? EstimatorKind::kFlow : EstimatorKind::kStreams;
}

}  // namespace hbbp
