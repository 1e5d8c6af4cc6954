#include "capi/kept_bursts.h"

#include <hbbp/host.h>

#include "collect/first_bursts.h"
#include "profile/kept_burst_merger.h"
#include "profile/profile_merge.h"

namespace hbbp::capi {

Status ReadKeptBurstBytes(const char* options, uint64_t bytes, KeptDetail* detail) {
  if (bytes != 0 && bytes < HBBP_MIN_KEPT_BURST_BYTES) {
    return MakeStatus(StatusCode::kInvalidArgument,
                      "%s.kept_burst_bytes: must be 0, or at least %llu", options,
                      static_cast<unsigned long long>(HBBP_MIN_KEPT_BURST_BYTES));
  }
  KeepBursts(bytes, detail);
  return OkStatus();
}

Status CheckKeptAccesses(const hbbp_session_options& options, bool looks_ahead) {
  const char* problem = nullptr;
  if (options.keep_accesses > 1) problem = "must be 0 or 1";
  if (!looks_ahead) problem = "is for HBBP_SOURCE_SWBT with HBBP_TRACE_LOOKAHEAD";
  if (options.kept_burst_bytes == 0) problem = "needs kept_burst_bytes, where accesses are kept";
  if (problem == nullptr) return OkStatus();
  return MakeStatus(StatusCode::kInvalidArgument, "hbbp_session_options.keep_accesses: %s",
                    problem);
}

ProfileData Merge(std::span<const ProfileData* const> profiles, const Work& work) {
  KeptBurstMerger bursts;
  return MergeProfiles(profiles, work, &bursts);
}

}  // namespace hbbp::capi
