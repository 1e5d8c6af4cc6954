// slice_ns of the options of sessions, imports and feeds.
#ifndef HBBP_LIB_CAPI_SLICE_OPTION_H_
#define HBBP_LIB_CAPI_SLICE_OPTION_H_

#include <hbbp/slices.h>

#include "base/status.h"

namespace hbbp::capi {

inline Status CheckSlice(const char* options, uint64_t slice_ns) {
  const bool is_slice = slice_ns >= HBBP_MIN_SLICE_NS && slice_ns <= HBBP_MAX_SLICE_NS;
  if (slice_ns == 0 || is_slice) return OkStatus();
  return MakeStatus(StatusCode::kInvalidArgument, "%s.slice_ns: must be 0, or 1 ms to 10^15 ns",
                    options);
}

}  // namespace hbbp::capi

#endif  // HBBP_LIB_CAPI_SLICE_OPTION_H_
