#include <hbbp/host.h>

#include "capi/boundary.h"
#include "capi/host_handle.h"

namespace hbbp::capi {

static_assert(static_cast<int>(LogLevel::kError) == HBBP_LOG_ERROR);
static_assert(static_cast<int>(LogLevel::kWarning) == HBBP_LOG_WARNING);
static_assert(static_cast<int>(LogLevel::kInfo) == HBBP_LOG_INFO);
static_assert(static_cast<int>(LogLevel::kDebug) == HBBP_LOG_DEBUG);

LogSettings MakeLogSettings(hbbp_log log, void* user_data, hbbp_log_level level) {
  LogSettings settings;
  if (level != 0) settings.level = static_cast<LogLevel>(level);
  settings.log = [log, user_data](LogLevel of_message, const char* message) {
    log(static_cast<hbbp_log_level>(of_message), message, user_data);
  };
  return settings;
}

Status ReadAllocator(const hbbp_allocator* given, Allocator* allocator) {
  if (given == nullptr) return OkStatus();
  HBBP_INIT(hbbp_allocator, full);
  HBBP_RETURN_IF_ERROR(ReadInput(given, "hbbp_allocator", &full));
  HBBP_RETURN_IF_ERROR(CheckReserved("hbbp_allocator.reserved", full.reserved));
  if (full.allocate == nullptr || full.deallocate == nullptr) {
    return MakeStatus(StatusCode::kInvalidArgument,
                      "hbbp_allocator: allocate and deallocate must both be set");
  }
  *allocator = {full.allocate, full.deallocate, full.user_data};
  return OkStatus();
}

StatusOr<Work> ReadWork(const hbbp_work_options* given) {
  Work work;
  if (given == nullptr) return work;
  HBBP_INIT(hbbp_work_options, full);
  HBBP_RETURN_IF_ERROR(ReadInput(given, "hbbp_work_options", &full));
  HBBP_RETURN_IF_ERROR(CheckReserved("hbbp_work_options.reserved", full.reserved));
  if (full.progress != nullptr) {
    work.progress = [progress = full.progress, user_data = full.user_data](
                        uint64_t done, uint64_t all) { progress(done, all, user_data); };
  }
  if (full.cancel != nullptr) work.cancel = &full.cancel->flag;
  return work;
}

}  // namespace hbbp::capi

extern "C" {

HBBP_API hbbp_status hbbp_cancel_create(hbbp_cancel** cancel, hbbp_error* error) {
  return hbbp::capi::Guard(error, [&]() -> hbbp::Status {
    if (cancel == nullptr) return hbbp::capi::NullArgument("hbbp_cancel_create", "cancel");
    *cancel = new hbbp_cancel();
    return hbbp::OkStatus();
  });
}

HBBP_API void hbbp_cancel_destroy(hbbp_cancel* cancel) { delete cancel; }

HBBP_API void hbbp_cancel_set(hbbp_cancel* cancel, int32_t cancelled) {
  if (cancel != nullptr) cancel->flag.Set(cancelled != 0);
}

HBBP_API int32_t hbbp_cancel_is_set(const hbbp_cancel* cancel) {
  return cancel != nullptr && cancel->flag.is_set() ? 1 : 0;
}

}  // extern "C"
