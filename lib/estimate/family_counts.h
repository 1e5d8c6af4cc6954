// Counts blocks by each family of sources, and makes these counts comparable.
#ifndef HBBP_LIB_ESTIMATE_FAMILY_COUNTS_H_
#define HBBP_LIB_ESTIMATE_FAMILY_COUNTS_H_

#include <span>
#include <vector>

#include "estimate/block_evidence.h"
#include "estimate/block_record.h"
#include "estimate/family_choice.h"
#include "profile/profile_data.h"
#include "profile/sample_totals.h"

namespace hbbp {

void Scale(double factor, Contribution* contribution);
void Scale(double factor, StreamSums* sums);

// The estimator that counts the blocks of a profile.
struct ChosenEstimator {
  EstimatorKind kind = EstimatorKind::kAuto;  // not kAuto once it is chosen
  FamilyScales scales;
  int families = 0;  // number of families that were observed
};

// `contributions` must be of data.counts, without scale yet.
ChosenEstimator ChooseEstimator(const ProfileData& data, const SampleTotals& totals,
                                std::span<const ObservedModule> modules,
                                std::span<const Contribution> contributions, EstimatorKind asked);

// `contributions` must be on the scale of the result.
FamilyCounts CountFamilies(const ObservedBlock& observed,
                           std::span<const Contribution> contributions, double streams_scale);

// Returns the mean over the blocks that a family observed, or 0 if there are none.
double MeanCount(std::span<const ObservedModule> modules,
                 std::span<const Contribution> contributions, const ChosenEstimator& estimator);

}  // namespace hbbp

#endif  // HBBP_LIB_ESTIMATE_FAMILY_COUNTS_H_
