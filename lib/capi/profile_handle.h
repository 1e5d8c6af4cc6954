// The profile behind the handle.
#ifndef HBBP_LIB_CAPI_PROFILE_HANDLE_H_
#define HBBP_LIB_CAPI_PROFILE_HANDLE_H_

#include <hbbp/profile.h>

#include <utility>

#include "profile/resolved_profile.h"

struct hbbp_profile {
  explicit hbbp_profile(hbbp::ProfileData data) : resolved(std::move(data)) {}

  hbbp::ResolvedProfile resolved;
};

#endif  // HBBP_LIB_CAPI_PROFILE_HANDLE_H_
