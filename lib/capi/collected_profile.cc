// The profile behind the handle of libhbbp-collect.
#include <utility>

#include "capi/profile_access.h"

struct hbbp_profile {
  explicit hbbp_profile(hbbp::ProfileData given)
      : totals(CountSamples(given)), data(std::move(given)) {}

  const hbbp::SampleTotals totals;
  const hbbp::ProfileData data;
};

namespace hbbp::capi {

hbbp_profile* NewProfile(ProfileData data) { return new hbbp_profile(std::move(data)); }

const ProfileData& DataOf(const hbbp_profile& profile) { return profile.data; }

const SampleTotals& TotalsOf(const hbbp_profile& profile) { return profile.totals; }

// Only an analysis reads the code of kernels.
ProfileData DataToStore(const hbbp_profile& profile) { return profile.data; }

}  // namespace hbbp::capi

extern "C" HBBP_API void hbbp_profile_destroy(hbbp_profile* profile) { delete profile; }
