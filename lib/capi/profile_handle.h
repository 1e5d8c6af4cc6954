// The profile behind the handle.
#ifndef HBBP_LIB_CAPI_PROFILE_HANDLE_H_
#define HBBP_LIB_CAPI_PROFILE_HANDLE_H_

#include <hbbp/profile.h>

#include <utility>

#include "analysis/resolved_profile.h"

struct hbbp_profile {
  explicit hbbp_profile(hbbp::ProfileData data) : resolved(std::move(data)) {}

  // Part of another profile, which is resolved as that is.
  hbbp_profile(hbbp::ProfileData data, const hbbp::ResolvedProfile& whole)
      : hbbp_profile(std::move(data)) {
    resolved.SetOptionsOf(whole);
  }

  hbbp::ResolvedProfile resolved;
};

#endif  // HBBP_LIB_CAPI_PROFILE_HANDLE_H_
