#include "capi/kept_bursts.h"

#include <hbbp/host.h>

#include "collect/data_attribution.h"
#include "collect/first_bursts.h"
#include "profile/kept_burst_merger.h"
#include "profile/profile_merge.h"

namespace hbbp::capi {

Status ReadKeptDetail(const char* options, uint64_t bytes, KeptDetail* detail) {
  if (bytes != 0 && bytes < HBBP_MIN_KEPT_BURST_BYTES) {
    return MakeStatus(StatusCode::kInvalidArgument,
                      "%s.kept_burst_bytes: must be 0, or at least %llu", options,
                      static_cast<unsigned long long>(HBBP_MIN_KEPT_BURST_BYTES));
  }
  KeepBursts(bytes, detail);
  KeepData(detail);
  detail->memory_nodes = &NodesOfThisMachine;
  return OkStatus();
}

Status CheckRecordedKinds(const hbbp_session_options& options, bool looks_ahead) {
  constexpr uint32_t kAllValues = kRecordedValues >> 1;
  const char* problem = nullptr;
  if (options.keep_accesses > 1) problem = "keep_accesses: must be 0 or 1";
  if (options.keep_values > kAllValues) problem = "keep_values: must be a sum of HBBP_VALUE_*";
  const bool is_of_accesses = options.keep_accesses != 0;
  if (!looks_ahead) {
    problem = is_of_accesses ? "keep_accesses: is for HBBP_SOURCE_SWBT with HBBP_TRACE_LOOKAHEAD"
                             : "keep_values: is for HBBP_SOURCE_SWBT with HBBP_TRACE_LOOKAHEAD";
  }
  if (options.kept_burst_bytes == 0) {
    problem = is_of_accesses ? "keep_accesses: needs kept_burst_bytes, where accesses are kept"
                             : "keep_values: needs kept_burst_bytes, where values are kept";
  }
  if (problem == nullptr) return OkStatus();
  return MakeStatus(StatusCode::kInvalidArgument, "hbbp_session_options.%s", problem);
}

ProfileData Merge(std::span<const ProfileData* const> profiles, const Work& work) {
  KeptBurstMerger bursts;
  return MergeProfiles(profiles, work, &bursts);
}

}  // namespace hbbp::capi
