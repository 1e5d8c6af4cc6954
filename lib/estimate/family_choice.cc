#include "estimate/family_choice.h"

namespace hbbp {

FamilyScales ScalesOf(const FamilyEvidence& ebs, const FamilyEvidence& streams) {
  const bool both_count = ebs.counts_executions && streams.counts_executions;
  if (both_count || ebs.instructions <= 0 || streams.instructions <= 0) return {};
  if (ebs.counts_executions) return {.streams = ebs.instructions / streams.instructions};
  return {.ebs = streams.instructions / ebs.instructions};
}

EstimatorKind EstimatorFor(EstimatorKind asked, const FamilyEvidence& ebs,
                           const FamilyEvidence& streams) {
  if (asked != EstimatorKind::kAuto) return asked;
  const bool are_alike =
      ebs.is_observed && ebs.counts_executions && streams.is_observed && streams.counts_executions;
  return are_alike ? EstimatorKind::kFlow : EstimatorKind::kStreams;
}

}  // namespace hbbp
