#include "capi/profile_handle.h"

#include <utility>

#include "capi/profile_access.h"

using hbbp::ProfileData;
using hbbp::ResolvedModules;
using hbbp::SampleTotals;

hbbp_profile::hbbp_profile(ProfileData data)
    : totals_(std::make_shared<const SampleTotals>(CountSamples(data))),
      modules_(std::make_shared<const ResolvedModules>(
          std::make_shared<const ProfileData>(std::move(data)))) {}

namespace hbbp::capi {

hbbp_profile* NewProfile(ProfileData data) { return new hbbp_profile(std::move(data)); }

const ProfileData& DataOf(const hbbp_profile& profile) { return profile.data(); }

const SampleTotals& TotalsOf(const hbbp_profile& profile) { return profile.totals(); }

ProfileData DataToStore(const hbbp_profile& profile) { return profile.modules()->DataToStore(); }

}  // namespace hbbp::capi

extern "C" HBBP_API void hbbp_profile_destroy(hbbp_profile* profile) { delete profile; }
