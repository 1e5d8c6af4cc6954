#include "capi/boundary.h"

#include <cstdio>
#include <exception>
#include <new>

#include "base/work.h"

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

hbbp_status ReportText(StatusCode status, std::string_view message, hbbp_error* error) {
  const auto code = static_cast<hbbp_status>(status);
  constexpr size_t kMessageOffset = offsetof(hbbp_error, message);
  if (error == nullptr || error->struct_size <= kMessageOffset) return code;
  error->status = code;
  const size_t room = std::min<size_t>(error->struct_size - kMessageOffset, sizeof(error->message));
  CopyText(message, error->message, room);
  return code;
}

hbbp_status ReportBug(const char* what, hbbp_error* error) {
  char message[sizeof(hbbp_error::message)];
  std::snprintf(message, sizeof(message), "%s; please report this", what);
  return ReportText(StatusCode::kInternal, message, error);
}

// Reads the size that the caller set, which every struct begins with.
StatusOr<size_t> SizeOfCallers(const void* structure, const char* name) {
  uint32_t size;
  std::memcpy(&size, structure, sizeof(size));
  if (size >= 2 * sizeof(uint32_t) && size <= kMaxStructBytes) return size_t{size};
  return MakeStatus(StatusCode::kInvalidArgument,
                    "%s.struct_size is %u; set it to sizeof(%s), or use HBBP_INIT", name, size,
                    name);
}

}  // namespace

hbbp_status Report(const Status& status, hbbp_error* error) {
  return status.ok() ? HBBP_OK : ReportText(status.code(), status.message(), error);
}

hbbp_status ReportException(hbbp_error* error) noexcept {
  try {
    throw;
  } catch (const WorkCancelled&) {
    return ReportText(StatusCode::kCancelled, kCancelledMessage, error);
  } catch (const std::bad_alloc&) {
    return ReportText(StatusCode::kNoMemory, "out of memory", error);
  } catch (const std::exception& exception) {
    return ReportBug(exception.what(), error);
  } catch (...) {
    return ReportBug("unknown exception", error);
  }
}

Status ReadStruct(const void* input, const char* name, void* full, size_t size) {
  HBBP_ASSIGN_OR_RETURN(const size_t callers_size, SizeOfCallers(input, name));
  const auto* bytes = static_cast<const unsigned char*>(input);
  for (size_t i = size; i < callers_size; ++i) {
    if (bytes[i] != 0) {
      return MakeStatus(StatusCode::kVersion,
                        "%s has a field at byte %zu that libhbbp %s does not know; use a newer "
                        "library or leave the field 0",
                        name, i, HBBP_VERSION_STRING);
    }
  }
  std::memset(full, 0, size);
  std::memcpy(full, input, std::min(callers_size, size));
  return OkStatus();
}

Status WriteStruct(const void* full, const char* name, void* output, size_t size) {
  HBBP_ASSIGN_OR_RETURN(const size_t callers_size, SizeOfCallers(output, name));
  auto* bytes = static_cast<unsigned char*>(output);
  std::memcpy(bytes, full, std::min(callers_size, size));
  if (callers_size > size) std::memset(bytes + size, 0, callers_size - size);
  const auto struct_size = static_cast<uint32_t>(callers_size);
  std::memcpy(bytes, &struct_size, sizeof(struct_size));
  return OkStatus();
}

Status CopyElements(const ListNames& names, size_t list_size, const ListPart& part,
                    const ListElements& elements, void* output, size_t* copied) {
  if (output == nullptr && part.count > 0) return NullArgument(names.function, names.output);
  if (copied == nullptr) return NullArgument(names.function, "copied");
  const bool can_be_struct = part.size >= 2 * sizeof(uint32_t) && part.size <= kMaxStructBytes;
  if (!can_be_struct || part.size % elements.alignment != 0) {
    return MakeStatus(StatusCode::kInvalidArgument, "%s: %s is %zu; pass sizeof(%s)",
                      names.function, names.size, part.size, names.type);
  }
  *copied = std::min(part.count, part.first < list_size ? list_size - part.first : 0);
  auto* position = static_cast<unsigned char*>(output);
  unsigned char element[kMaxStructBytes];
  for (size_t i = 0; i < *copied; ++i, position += part.size) {
    const auto struct_size = static_cast<uint32_t>(part.size);
    std::memcpy(position, &struct_size, sizeof(struct_size));
    elements.write(elements.make, part.first + i, element);
    HBBP_RETURN_IF_ERROR(WriteStruct(element, names.type, position, elements.size));
  }
  return OkStatus();
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
