#include "capi/kept_bursts.h"
#include "profile/profile_merge.h"

namespace hbbp::capi {

Status ReadKeptBurstBytes(const char* options, uint64_t bytes, KeptDetail*) {
  if (bytes == 0) return OkStatus();
  return MakeStatus(StatusCode::kUnsupported,
                    "%s.kept_burst_bytes: libhbbp-collect keeps no bursts; link libhbbp", options);
}

Status CheckKeptAccesses(const hbbp_session_options&, bool) {
  return MakeStatus(StatusCode::kUnsupported,
                    "hbbp_session_options.keep_accesses: libhbbp-collect keeps no bursts");
}

ProfileData Merge(std::span<const ProfileData* const> profiles, const Work& work) {
  return MergeProfiles(profiles, work);
}

}  // namespace hbbp::capi
