// Status and StatusOr report failures everywhere inside the library but in trace/, where nothing
// may allocate.
//
// These stand in for absl::Status, which brings some twenty shared libraries with it. The
// collecting half of the library is loaded into every profiled process, where that costs more
// than a millisecond per exec (docs/reference/dependencies.md).
#ifndef HBBP_LIB_BASE_STATUS_H_
#define HBBP_LIB_BASE_STATUS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace hbbp {

// The values are those of hbbp_status; capi/ asserts it.
enum class StatusCode : int32_t {
  kOk = 0,
  kInvalidArgument = -1,
  kInvalidState = -2,
  kNoMemory = -3,
  kNotFound = -4,
  kIo = -5,
  kBadFormat = -6,
  kUnsupported = -7,
  kPermission = -8,
  kBusy = -9,
  kVersion = -10,
  kMismatch = -11,
  kInternal = -12,
  kCancelled = -13,
};

class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(StatusCode code, std::string message) : code_(code), message_(std::move(message)) {}

  bool ok() const { return code_ == StatusCode::kOk; }
  StatusCode code() const { return code_; }
  const std::string& message() const { return message_; }

  // Returns the same failure with the message "context: message".
  Status Annotate(std::string_view context) const;

 private:
  StatusCode code_ = StatusCode::kOk;
  std::string message_;
};

inline Status OkStatus() { return Status(); }

// Formats the message as printf does.
Status MakeStatus(StatusCode code, const char* format, ...) __attribute__((format(printf, 2, 3)));

// Makes the message "what: strerror(error_number)" and the code that fits the errno value.
Status ErrnoStatus(int error_number, std::string_view what);

template <typename T>
class [[nodiscard]] StatusOr {
 public:
  StatusOr(Status status) : status_(std::move(status)) {}  // NOLINT: implicit by design
  StatusOr(T value) : value_(std::move(value)) {}          // NOLINT: implicit by design

  bool ok() const { return value_.has_value(); }
  const Status& status() const { return status_; }

  T& value() & { return *value_; }
  const T& value() const& { return *value_; }
  T&& value() && { return std::move(*value_); }
  T& operator*() & { return *value_; }
  const T& operator*() const& { return *value_; }
  T&& operator*() && { return std::move(*value_); }
  T* operator->() { return &*value_; }
  const T* operator->() const { return &*value_; }

 private:
  Status status_;
  std::optional<T> value_;
};

#define HBBP_RETURN_IF_ERROR(expression)         \
  do {                                           \
    ::hbbp::Status hbbp_status_ = (expression);  \
    if (!hbbp_status_.ok()) return hbbp_status_; \
  } while (false)

#define HBBP_STATUS_JOIN_INNER(a, b) a##b
#define HBBP_STATUS_JOIN(a, b) HBBP_STATUS_JOIN_INNER(a, b)
#define HBBP_ASSIGN_OR_RETURN(declaration, expression)             \
  auto HBBP_STATUS_JOIN(hbbp_status_or_, __LINE__) = (expression); \
  if (!HBBP_STATUS_JOIN(hbbp_status_or_, __LINE__).ok())           \
    return HBBP_STATUS_JOIN(hbbp_status_or_, __LINE__).status();   \
  declaration = *std::move(HBBP_STATUS_JOIN(hbbp_status_or_, __LINE__))

}  // namespace hbbp

#endif  // HBBP_LIB_BASE_STATUS_H_
