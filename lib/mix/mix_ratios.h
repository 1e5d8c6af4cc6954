// What follows from a whole mix: operations, bytes, and shares of instructions.
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
  // None: the profile cannot tell, or there is nothing to divide by. The error is of the ratio
  // itself (mix/joint_sums.h), not of its parts.
  std::optional<CountEstimate> value;
};

// Of the instructions that `where` keeps; empty: of all. How many branches were taken is known of
// all only, and only where streams were observed. What is needed and the subject does not have is
// made for this call (pivot_subject.h). Errors are those of `where`.
StatusOr<std::vector<MixRatio>> ComputeMixRatios(PivotSubject subject, const std::string& where,
                                                 const std::vector<Taxonomy>& taxonomies);

// Errors are those of `where`.
StatusOr<QueryNeeds> FindNeedsOfRatios(const Analysis& analysis, const std::string& where,
                                       const std::vector<Taxonomy>& taxonomies);

// The same of `input`, which has instructions. `filter` may be null; without taken branches it is
// not known how many there were.
std::vector<MixRatio> RatiosOf(const PivotInput& input, PivotFilter* filter,
                               const std::vector<TakenBranchRecord>& taken_branches);

}  // namespace hbbp

#endif  // HBBP_LIB_MIX_MIX_RATIOS_H_
