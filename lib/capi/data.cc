#include <hbbp/data.h>

#include <cstring>

#include "base/clock.h"
#include "capi/boundary.h"
#include "capi/session_handle.h"
#include "collect/data_blocks.h"

using hbbp::MakeStatus;
using hbbp::OkStatus;
using hbbp::Status;
using hbbp::StatusCode;
using namespace hbbp::capi;  // NOLINT(google-build-using-namespace): C functions are global

static_assert(hbbp::DataBlocks::Limits().pieces == HBBP_MAX_DATA_BLOCKS);
static_assert(hbbp::DataBlocks::Limits().names == HBBP_MAX_DATA_NAMES);

namespace {

constexpr size_t kMaxNameBytes = 4096;

Status CheckRegion(const hbbp_data_region& region) {
  if (region.size == 0 || region.size > UINT64_MAX - region.address) {
    return MakeStatus(StatusCode::kInvalidArgument,
                      "hbbp_data_region.size: must be at least 1, and reach no farther than the "
                      "last address");
  }
  if (region.name != nullptr) {
    const size_t length = ::strnlen(region.name, kMaxNameBytes + 1);
    if (length == 0 || length > kMaxNameBytes) {
      return MakeStatus(StatusCode::kInvalidArgument,
                        "hbbp_data_region.name: must be 1 to 4096 bytes, or NULL");
    }
  }
  return CheckReserved("hbbp_data_region.reserved", region.reserved);
}

}  // namespace

extern "C" {

HBBP_API hbbp_status hbbp_session_add_data(hbbp_session* session, const hbbp_data_region* region,
                                           hbbp_error* error) {
  return Guard(error, [&]() -> Status {
    if (session == nullptr) return NullArgument("hbbp_session_add_data", "session");
    if (region == nullptr) return NullArgument("hbbp_session_add_data", "region");
    HBBP_INIT(hbbp_data_region, full);
    HBBP_RETURN_IF_ERROR(ReadInput(region, "hbbp_data_region", &full));
    HBBP_RETURN_IF_ERROR(CheckRegion(full));
    hbbp::DataEvent data;
    data.address = {full.address};
    data.size = full.size;
    if (full.name != nullptr) data.name = full.name;
    data.time_ns = full.time_ns != 0 ? full.time_ns : hbbp::ClockNs(CLOCK_MONOTONIC);
    return session->session->AddData(data);
  });
}

}  // extern "C"
