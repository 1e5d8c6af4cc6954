// What the samples of this machine are exposed to if no source is asked for, for hbbp doctor: what
// SamplingAdvice() (profile_view.h) says of the samples of a profile.
#ifndef HBBP_TOOLS_SAMPLING_RISKS_H_
#define HBBP_TOOLS_SAMPLING_RISKS_H_

#include <hbbp/hbbp.h>

#include <vector>

#include "machine_limits.h"

namespace hbbp::tools {

// Returns rows about resonance, skid and shadow: "supported" if the default source is not exposed
// to it, "missing" if it is, "unknown" if there is nothing to sample by.
std::vector<MachineLimit> FindSamplingRisks(const std::vector<hbbp_capability>& capabilities);

}  // namespace hbbp::tools

#endif  // HBBP_TOOLS_SAMPLING_RISKS_H_
