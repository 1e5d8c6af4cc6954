#include <hbbp/slices.h>

#include <optional>
#include <utility>

#include "capi/boundary.h"
#include "capi/profile_handle.h"
#include "profile/profile_merge.h"

using hbbp::OkStatus;
using hbbp::ProfileData;
using hbbp::Status;
using hbbp::capi::BadIndex;
using hbbp::capi::Guard;
using hbbp::capi::NullArgument;
using hbbp::capi::WriteOutput;

static_assert(HBBP_MOST_SLICES == hbbp::SliceClock::kMaxSlices);

extern "C" {

HBBP_API size_t hbbp_profile_slice_count(const hbbp_profile* profile) {
  return profile == nullptr ? 0 : profile->data().slices.count;
}

HBBP_API hbbp_status hbbp_profile_slice_at(const hbbp_profile* profile, size_t index,
                                           hbbp_slice* slice, hbbp_error* error) {
  constexpr char kFunction[] = "hbbp_profile_slice_at";
  return Guard(error, [&]() -> Status {
    if (profile == nullptr) return NullArgument(kFunction, "profile");
    if (slice == nullptr) return NullArgument(kFunction, "slice");
    const ProfileData& data = profile->data();
    if (index >= data.slices.count) return BadIndex(kFunction, index, data.slices.count);
    HBBP_INIT(hbbp_slice, full);
    const auto slice_index = static_cast<uint32_t>(index);
    full.start_ns = data.slices.StartOf(slice_index);
    full.end_ns = data.slices.EndOf(slice_index);
    full.samples = profile->totals().of_slice[slice_index];
    return WriteOutput(full, "hbbp_slice", slice);
  });
}

HBBP_API hbbp_status hbbp_profile_select_slice(const hbbp_profile* profile, size_t index,
                                               hbbp_profile** selected, hbbp_error* error) {
  constexpr char kFunction[] = "hbbp_profile_select_slice";
  return Guard(error, [&]() -> Status {
    if (profile == nullptr) return NullArgument(kFunction, "profile");
    if (selected == nullptr) return NullArgument(kFunction, "selected");
    const ProfileData& data = profile->data();
    if (index >= data.slices.count) return BadIndex(kFunction, index, data.slices.count);
    std::optional<ProfileData> part = SelectSlice(data, static_cast<uint32_t>(index));
    *selected = new hbbp_profile(*std::move(part), *profile);
    return OkStatus();
  });
}

}  // extern "C"
