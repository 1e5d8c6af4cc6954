#include <utility>

#include "capi/boundary.h"
#include "capi/host_handle.h"
#include "capi/profile_access.h"
#include "profile/kept_burst_merger.h"
#include "profile/profile_merger.h"

using hbbp::MakeStatus;
using hbbp::OkStatus;
using hbbp::ProfileMerger;
using hbbp::Status;
using hbbp::StatusCode;
using namespace hbbp::capi;  // NOLINT(google-build-using-namespace): C functions are global

struct hbbp_merger {
  explicit hbbp_merger(hbbp::MergeOptions options) : merger(options, &bursts) {}

  hbbp::KeptBurstMerger bursts;
  ProfileMerger merger;
  bool is_usable = true;
};

namespace {

Status CheckUsable(const hbbp_merger& merger, const char* function) {
  if (merger.is_usable) return OkStatus();
  return MakeStatus(StatusCode::kInvalidState,
                    "%s: the merger is finished, or failed before; create another one", function);
}

// Calls body(check) of a merger that cannot be used any more if that throws.
template <typename Body>
void Change(hbbp_merger* merger, const hbbp::Work& work, Body&& body) {
  hbbp::ReportOrThrow(work, 0, 1);
  hbbp::CancelCheck check(work.cancel);
  merger->is_usable = false;
  body(&check);
  hbbp::ReportOrThrow(work, 1, 1);
}

}  // namespace

extern "C" {

HBBP_API hbbp_status hbbp_merger_create(const hbbp_merger_options* options, hbbp_merger** merger,
                                        hbbp_error* error) {
  return Guard(error, [&]() -> Status {
    if (merger == nullptr) return NullArgument("hbbp_merger_create", "merger");
    HBBP_INIT(hbbp_merger_options, full);
    if (options != nullptr) HBBP_RETURN_IF_ERROR(ReadInput(options, "hbbp_merger_options", &full));
    constexpr uint32_t kKnown = HBBP_MERGER_DROP_THREADS | HBBP_MERGER_DROP_SLICES;
    if ((full.dropped & ~kKnown) != 0) {
      return MakeStatus(StatusCode::kInvalidArgument,
                        "hbbp_merger_options.dropped: 0x%x is not known to this library",
                        full.dropped & ~kKnown);
    }
    *merger = new hbbp_merger({.drop_threads = (full.dropped & HBBP_MERGER_DROP_THREADS) != 0,
                               .drop_slices = (full.dropped & HBBP_MERGER_DROP_SLICES) != 0});
    return OkStatus();
  });
}

HBBP_API hbbp_status hbbp_merger_add(hbbp_merger* merger, const hbbp_profile* profile,
                                     const hbbp_work_options* work, hbbp_error* error) {
  return Guard(error, [&]() -> Status {
    if (merger == nullptr) return NullArgument("hbbp_merger_add", "merger");
    if (profile == nullptr) return NullArgument("hbbp_merger_add", "profile");
    HBBP_ASSIGN_OR_RETURN(const hbbp::Work chosen, ReadWork(work));
    HBBP_RETURN_IF_ERROR(CheckUsable(*merger, "hbbp_merger_add"));
    Change(merger, chosen,
           [&](hbbp::CancelCheck* check) { merger->merger.Add(DataOf(*profile), check); });
    merger->is_usable = true;
    return OkStatus();
  });
}

HBBP_API hbbp_status hbbp_merger_finish(hbbp_merger* merger, const hbbp_work_options* work,
                                        hbbp_profile** merged, hbbp_error* error) {
  return Guard(error, [&]() -> Status {
    if (merger == nullptr) return NullArgument("hbbp_merger_finish", "merger");
    if (merged == nullptr) return NullArgument("hbbp_merger_finish", "merged");
    HBBP_ASSIGN_OR_RETURN(const hbbp::Work chosen, ReadWork(work));
    HBBP_RETURN_IF_ERROR(CheckUsable(*merger, "hbbp_merger_finish"));
    if (merger->merger.size() == 0) {
      return MakeStatus(StatusCode::kInvalidState, "hbbp_merger_finish: no profile was added");
    }
    hbbp::ProfileData sum;
    Change(merger, chosen, [&](hbbp::CancelCheck* check) { sum = merger->merger.Finish(check); });
    *merged = NewProfile(std::move(sum));
    return OkStatus();
  });
}

HBBP_API void hbbp_merger_destroy(hbbp_merger* merger) { delete merger; }

}  // extern "C"
