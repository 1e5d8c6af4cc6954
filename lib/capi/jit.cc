#include <hbbp/jit.h>

#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "capi/boundary.h"
#include "capi/session_handle.h"
#include "collect/generated_code.h"
#include "image/process_memory.h"

using hbbp::MakeStatus;
using hbbp::OkStatus;
using hbbp::RuntimeAddress;
using hbbp::Status;
using hbbp::StatusCode;
using namespace hbbp::capi;  // NOLINT(google-build-using-namespace): C functions are global

namespace {

Status CheckRegion(const hbbp_code_region& region) {
  if (region.size == 0 || region.size > hbbp::GeneratedCode::kMaxBytes) {
    return MakeStatus(StatusCode::kInvalidArgument,
                      "hbbp_code_region.size: must be 1 to 268435456 bytes");
  }
  if (region.address + region.size < region.address) {
    return MakeStatus(StatusCode::kInvalidArgument,
                      "hbbp_code_region.address: the code must end below 2^64");
  }
  return CheckReserved("hbbp_code_region.reserved", region.reserved);
}

}  // namespace

extern "C" {

HBBP_API hbbp_status hbbp_session_add_code(hbbp_session* session, const hbbp_code_region* region,
                                           hbbp_error* error) {
  return Guard(error, [&]() -> Status {
    if (session == nullptr) return NullArgument("hbbp_session_add_code", "session");
    if (region == nullptr) return NullArgument("hbbp_session_add_code", "region");
    HBBP_INIT(hbbp_code_region, full);
    HBBP_RETURN_IF_ERROR(ReadInput(region, "hbbp_code_region", &full));
    HBBP_RETURN_IF_ERROR(CheckRegion(full));
    std::vector<uint8_t> copy;
    std::span<const uint8_t> bytes(static_cast<const uint8_t*>(full.code), full.size);
    if (full.code == nullptr) {
      copy.resize(full.size);
      const size_t got =
          hbbp::ReadProcessMemory(session->session->pid(), RuntimeAddress{full.address}, copy);
      if (got < copy.size()) {
        return MakeStatus(StatusCode::kNotFound,
                          "hbbp_session_add_code: memory from 0x%llx on cannot be read",
                          static_cast<unsigned long long>(full.address) + got);
      }
      bytes = copy;
    }
    return session->session->AddCode(
        RuntimeAddress{full.address}, bytes, full.name != nullptr ? full.name : "",
        full.time_ns != 0 ? full.time_ns : hbbp::ClockNs(CLOCK_MONOTONIC));
  });
}

}  // extern "C"
