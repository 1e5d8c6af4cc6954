// Who keeps whole bursts, and accesses by data: libhbbp, and not libhbbp-collect.
#ifndef HBBP_LIB_CAPI_KEPT_BURSTS_H_
#define HBBP_LIB_CAPI_KEPT_BURSTS_H_

#include <hbbp/session.h>

#include <cstdint>
#include <span>

#include "base/status.h"
#include "base/work.h"
#include "collect/kept_detail.h"
#include "profile/profile_data.h"

namespace hbbp::capi {

// Has accesses kept by data, and bursts by kept_burst_bytes of options of that name.
Status ReadKeptDetail(const char* options, uint64_t bytes, KeptDetail* detail);

// Checks options.keep_accesses and keep_values, which are not both 0.
Status CheckRecordedKinds(const hbbp_session_options& options, bool looks_ahead);

// Calls MergeProfiles, with bursts or without.
ProfileData Merge(std::span<const ProfileData* const> profiles, const Work& work);

}  // namespace hbbp::capi

#endif  // HBBP_LIB_CAPI_KEPT_BURSTS_H_
