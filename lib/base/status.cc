#include "base/status.h"

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>

namespace hbbp {
namespace {

StatusCode ErrnoCode(int error_number) {
  switch (error_number) {
    case EACCES:
    case EPERM:
      return StatusCode::kPermission;
    case ENOENT:
    case ESRCH:
    case ENXIO:
      return StatusCode::kNotFound;
    case ENOMEM:
      return StatusCode::kNoMemory;
    case EBUSY:
    case ENOSPC:
    case EMFILE:
    case ENFILE:
      return StatusCode::kBusy;
    case ENOSYS:
    case EOPNOTSUPP:
    case ENODEV:
      return StatusCode::kUnsupported;
    case EINVAL:
      return StatusCode::kInvalidArgument;
    default:
      return StatusCode::kIo;
  }
}

}  // namespace

Status Status::Annotate(std::string_view context) const {
  if (ok()) return *this;
  std::string message(context);
  message += ": ";
  message += message_;
  return Status(code_, std::move(message));
}

Status MakeStatus(StatusCode code, const char* format, ...) {
  char buffer[1024];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(buffer, sizeof(buffer), format, arguments);
  va_end(arguments);
  return Status(code, buffer);
}

Status ErrnoStatus(int error_number, std::string_view what) {
  // Unlike strerror_r, it allocates nothing and translates nothing.
  const char* const description = ::strerrordesc_np(error_number);
  std::string message(what);
  message += ": ";
  message += description != nullptr ? description : "errno " + std::to_string(error_number);
  return Status(ErrnoCode(error_number), std::move(message));
}

}  // namespace hbbp
