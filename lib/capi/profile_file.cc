#include "profile/profile_file.h"

#include <utility>
#include <vector>

#include "capi/boundary.h"
#include "capi/host_handle.h"
#include "capi/kept_bursts.h"
#include "capi/profile_access.h"
#include "collect/module_capture.h"
#include "profile/sample_totals.h"

using hbbp::MakeStatus;
using hbbp::OkStatus;
using hbbp::ProfileData;
using hbbp::Status;
using hbbp::StatusCode;
using namespace hbbp::capi;  // NOLINT(google-build-using-namespace): C functions are global

extern "C" {

HBBP_API hbbp_status hbbp_profile_load(const char* path, const hbbp_work_options* work,
                                       hbbp_profile** profile, hbbp_error* error) {
  return Guard(error, [&]() -> Status {
    if (path == nullptr) return NullArgument("hbbp_profile_load", "path");
    if (profile == nullptr) return NullArgument("hbbp_profile_load", "profile");
    HBBP_ASSIGN_OR_RETURN(const hbbp::Work chosen, ReadWork(work));
    HBBP_RETURN_IF_ERROR(chosen.Report(0, 1));
    HBBP_ASSIGN_OR_RETURN(ProfileData data, hbbp::LoadProfile(path));
    HBBP_RETURN_IF_ERROR(chosen.Report(1, 1));
    *profile = NewProfile(std::move(data));
    return OkStatus();
  });
}

HBBP_API hbbp_status hbbp_profile_save(const hbbp_profile* profile, const char* path,
                                       const hbbp_work_options* work, hbbp_error* error) {
  return Guard(error, [&]() -> Status {
    if (profile == nullptr) return NullArgument("hbbp_profile_save", "profile");
    if (path == nullptr) return NullArgument("hbbp_profile_save", "path");
    HBBP_ASSIGN_OR_RETURN(const hbbp::Work chosen, ReadWork(work));
    HBBP_RETURN_IF_ERROR(chosen.Report(0, 1));
    ProfileData data = DataToStore(*profile);
    const std::vector<uint64_t> samples = hbbp::CountSamples(data).of_module;
    for (size_t i = 0; i < data.modules.size(); ++i) {
      if (samples[i] > 0) EmbedIfUnreachable(&data.modules[i]);
    }
    HBBP_RETURN_IF_ERROR(chosen.Report(1, 1));
    return hbbp::SaveProfile(data, path);
  });
}

HBBP_API hbbp_status hbbp_profile_merge(const hbbp_profile* const* profiles, size_t count,
                                        const hbbp_work_options* work, hbbp_profile** merged,
                                        hbbp_error* error) {
  return Guard(error, [&]() -> Status {
    if (profiles == nullptr) return NullArgument("hbbp_profile_merge", "profiles");
    if (merged == nullptr) return NullArgument("hbbp_profile_merge", "merged");
    if (count == 0) {
      return MakeStatus(StatusCode::kInvalidArgument, "hbbp_profile_merge: count is 0");
    }
    std::vector<const ProfileData*> parts;
    for (size_t i = 0; i < count; ++i) {
      if (profiles[i] == nullptr) return NullArgument("hbbp_profile_merge", "one of the profiles");
      parts.push_back(&DataOf(*profiles[i]));
    }
    HBBP_ASSIGN_OR_RETURN(const hbbp::Work chosen, ReadWork(work));
    *merged = NewProfile(Merge(parts, chosen));
    return OkStatus();
  });
}

}  // extern "C"
