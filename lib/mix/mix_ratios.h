// Computes ratios of a whole mix: operations, bytes, and shares of instructions.
#ifndef HBBP_LIB_MIX_MIX_RATIOS_H_
#define HBBP_LIB_MIX_MIX_RATIOS_H_

#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "estimate/count_estimate.h"
#include "isa/taxonomy.h"
#include "mix/pivot.h"
#include "mix/pivot_input.h"
#include "mix/pivot_subject.h"

namespace hbbp {

struct MixRatio {
  const char* group;
  const char* name;
  const char* unit;
  // It is empty if the profile does not have the data, or the divisor is 0. The error is that of
  // the ratio itself (mix/correlated_sums.h), not of its parts.
  std::optional<CountEstimate> value;
};

// Computes the ratios of the instructions that match `where`, or of all if it is empty. The number
// of taken branches is known only for all instructions, and only where streams were observed. Data
// that the subject lacks is made for this call (pivot_subject.h). Returns the errors of `where`.
StatusOr<std::vector<MixRatio>> ComputeMixRatios(PivotSubject subject, const std::string& where,
                                                 const std::vector<Taxonomy>& taxonomies);

// Returns the errors of `where`.
StatusOr<QueryNeeds> FindNeedsOfRatios(const Analysis& analysis, const std::string& where,
                                       const std::vector<Taxonomy>& taxonomies);

// Computes the same from `input`, which must have instructions. `filter` may be null; without taken
// branches their number is unknown. Work is in observations; throws WorkCancelled.
std::vector<MixRatio> ComputeRatios(const PivotInput& input, PivotFilter* filter,
                                    const std::vector<TakenBranchRecord>& taken_branches,
                                    const Work& work = {});

}  // namespace hbbp

#endif  // HBBP_LIB_MIX_MIX_RATIOS_H_
