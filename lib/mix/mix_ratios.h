// What follows from a whole mix: operations, bytes, and shares of instructions.
#ifndef HBBP_LIB_MIX_MIX_RATIOS_H_
#define HBBP_LIB_MIX_MIX_RATIOS_H_

#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "isa/taxonomy.h"
#include "profile/resolved_profile.h"

namespace hbbp {

struct MixRatio {
  const char* group;
  const char* name;
  const char* unit;
  std::optional<double> value;  // none: the profile cannot tell, or there is nothing to divide by
};

// Of the instructions that `where` keeps; empty: of all. How many branches were taken is known of
// all only, and only where streams were observed. Errors are those of `where`.
StatusOr<std::vector<MixRatio>> ComputeMixRatios(const ResolvedProfile& profile,
                                                 const std::string& where,
                                                 const std::vector<Taxonomy>& taxonomies);

}  // namespace hbbp

#endif  // HBBP_LIB_MIX_MIX_RATIOS_H_
