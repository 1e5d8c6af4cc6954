// The handle of a profile as functions see it that need no analysis. They are in libhbbp-collect,
// too, where there is nothing behind the handle but the data.
#ifndef HBBP_LIB_CAPI_PROFILE_ACCESS_H_
#define HBBP_LIB_CAPI_PROFILE_ACCESS_H_

#include <hbbp/profile.h>

#include "profile/profile_data.h"
#include "profile/sample_totals.h"

namespace hbbp::capi {

hbbp_profile* NewProfile(ProfileData data);
const ProfileData& DataOf(const hbbp_profile& profile);
const SampleTotals& TotalsOf(const hbbp_profile& profile);
// Returns the data with what is known now, and may not be later, of the code of kernels.
ProfileData DataToStore(const hbbp_profile& profile);

}  // namespace hbbp::capi

#endif  // HBBP_LIB_CAPI_PROFILE_ACCESS_H_
