#include "capi/kept_bursts.h"
#include "profile/profile_merge.h"

namespace hbbp::capi {

Status ReadKeptDetail(const char* options, uint64_t bytes, KeptDetail*) {
  if (bytes == 0) return OkStatus();
  return MakeStatus(StatusCode::kUnsupported,
                    "%s.kept_burst_bytes: libhbbp-collect keeps no bursts; link libhbbp", options);
}

Status CheckRecordedKinds(const hbbp_session_options& options, bool) {
  return MakeStatus(StatusCode::kUnsupported,
                    "hbbp_session_options.%s: libhbbp-collect keeps no bursts",
                    options.keep_accesses != 0 ? "keep_accesses" : "keep_values");
}

ProfileData Merge(std::span<const ProfileData* const> profiles, const Work& work) {
  return MergeProfiles(profiles, work);
}

}  // namespace hbbp::capi
