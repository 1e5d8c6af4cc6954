// What each family of sources counts, block by block, and what makes their counts comparable.
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

// How the blocks of a profile are counted.
struct ChosenEstimator {
  EstimatorKind kind = EstimatorKind::kAuto;  // not kAuto, once it is chosen
  FamilyScales scales;
  int families = 0;  // that were observed
};

// `contributions` are of data.counts, and not on any scale yet.
ChosenEstimator ChooseEstimator(const ProfileData& data, const SampleTotals& totals,
                                std::span<const ObservedModule> modules,
                                std::span<const Contribution> contributions, EstimatorKind asked);

// `contributions` are on the scale of the result.
FamilyCounts CountFamilies(const ObservedBlock& observed,
                           std::span<const Contribution> contributions, double streams_scale);

// Of the blocks that were observed, by a family; 0 if there are none.
double MeanCount(std::span<const ObservedModule> modules,
                 std::span<const Contribution> contributions, const ChosenEstimator& estimator);

}  // namespace hbbp

#endif  // HBBP_LIB_ESTIMATE_FAMILY_COUNTS_H_
