#include "capi/profile_handle.h"

#include <utility>

#include "capi/profile_access.h"

namespace hbbp::capi {

hbbp_profile* NewProfile(ProfileData data) { return new hbbp_profile(std::move(data)); }

const ProfileData& DataOf(const hbbp_profile& profile) { return profile.resolved.data(); }

ProfileData DataToStore(const hbbp_profile& profile) { return profile.resolved.DataToStore(); }

}  // namespace hbbp::capi

extern "C" HBBP_API void hbbp_profile_destroy(hbbp_profile* profile) { delete profile; }
