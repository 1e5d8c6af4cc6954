#include "capi/boundary.h"

namespace hbbp::capi {
namespace {

constexpr bool SameCode(StatusCode code, hbbp_status status) {
  return static_cast<int32_t>(code) == status;
}
static_assert(SameCode(StatusCode::kOk, HBBP_OK));
static_assert(SameCode(StatusCode::kInvalidArgument, HBBP_ERROR_INVALID_ARGUMENT));
static_assert(SameCode(StatusCode::kInvalidState, HBBP_ERROR_INVALID_STATE));
static_assert(SameCode(StatusCode::kNoMemory, HBBP_ERROR_NO_MEMORY));
static_assert(SameCode(StatusCode::kNotFound, HBBP_ERROR_NOT_FOUND));
static_assert(SameCode(StatusCode::kIo, HBBP_ERROR_IO));
static_assert(SameCode(StatusCode::kBadFormat, HBBP_ERROR_BAD_FORMAT));
static_assert(SameCode(StatusCode::kUnsupported, HBBP_ERROR_UNSUPPORTED));
static_assert(SameCode(StatusCode::kPermission, HBBP_ERROR_PERMISSION));
static_assert(SameCode(StatusCode::kBusy, HBBP_ERROR_BUSY));
static_assert(SameCode(StatusCode::kVersion, HBBP_ERROR_VERSION));
static_assert(SameCode(StatusCode::kMismatch, HBBP_ERROR_MISMATCH));
static_assert(SameCode(StatusCode::kInternal, HBBP_ERROR_INTERNAL));
static_assert(SameCode(StatusCode::kCancelled, HBBP_ERROR_CANCELLED));

}  // namespace

hbbp_status Report(const Status& status, hbbp_error* error) {
  const auto code = static_cast<hbbp_status>(status.code());
  constexpr size_t kMessageOffset = offsetof(hbbp_error, message);
  if (status.ok() || error == nullptr || error->struct_size <= kMessageOffset) return code;
  error->status = code;
  const size_t room = std::min<size_t>(error->struct_size - kMessageOffset, sizeof(error->message));
  const size_t length = std::min(status.message().size(), room - 1);
  std::memcpy(error->message, status.message().data(), length);
  error->message[length] = '\0';
  return code;
}

Status NullArgument(const char* function, const char* argument) {
  return MakeStatus(StatusCode::kInvalidArgument, "%s: %s is NULL", function, argument);
}

Status CheckReserved(const char* field, uint32_t value) {
  if (value == 0) return OkStatus();
  return MakeStatus(StatusCode::kInvalidArgument, "%s: must be 0", field);
}

Status BadIndex(const char* function, size_t index, size_t count) {
  return MakeStatus(StatusCode::kNotFound, "%s: index %zu of %zu", function, index, count);
}

}  // namespace hbbp::capi

extern "C" HBBP_API const char* hbbp_status_name(hbbp_status status) {
  switch (status) {
    case HBBP_OK:
      return "HBBP_OK";
    case HBBP_ERROR_INVALID_ARGUMENT:
      return "HBBP_ERROR_INVALID_ARGUMENT";
    case HBBP_ERROR_INVALID_STATE:
      return "HBBP_ERROR_INVALID_STATE";
    case HBBP_ERROR_NO_MEMORY:
      return "HBBP_ERROR_NO_MEMORY";
    case HBBP_ERROR_NOT_FOUND:
      return "HBBP_ERROR_NOT_FOUND";
    case HBBP_ERROR_IO:
      return "HBBP_ERROR_IO";
    case HBBP_ERROR_BAD_FORMAT:
      return "HBBP_ERROR_BAD_FORMAT";
    case HBBP_ERROR_UNSUPPORTED:
      return "HBBP_ERROR_UNSUPPORTED";
    case HBBP_ERROR_PERMISSION:
      return "HBBP_ERROR_PERMISSION";
    case HBBP_ERROR_BUSY:
      return "HBBP_ERROR_BUSY";
    case HBBP_ERROR_VERSION:
      return "HBBP_ERROR_VERSION";
    case HBBP_ERROR_MISMATCH:
      return "HBBP_ERROR_MISMATCH";
    case HBBP_ERROR_INTERNAL:
      return "HBBP_ERROR_INTERNAL";
    case HBBP_ERROR_CANCELLED:
      return "HBBP_ERROR_CANCELLED";
    default:
      return "unknown status";
  }
}
