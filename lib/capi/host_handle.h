// Reads what a host gave into what the library uses.
#ifndef HBBP_LIB_CAPI_HOST_HANDLE_H_
#define HBBP_LIB_CAPI_HOST_HANDLE_H_

#include <hbbp/host.h>

#include "base/counted_memory.h"
#include "base/status.h"
#include "base/work.h"
#include "collect/host_settings.h"

struct hbbp_cancel {
  hbbp::CancelFlag flag;
};

namespace hbbp::capi {

// Level 0 stands for kInfo.
LogSettings MakeLogSettings(hbbp_log log, void* user_data, hbbp_log_level level);

// NULL stands for operator new.
Status ReadAllocator(const hbbp_allocator* given, Allocator* allocator);

// Reads log, memory and allocator from options of that name, which are structs that have these
// fields.
template <typename Options>
Status ReadHost(const char* name, const Options& options, HostSettings* settings) {
  if (options.log_level < 0 || options.log_level > HBBP_LOG_DEBUG) {
    return MakeStatus(StatusCode::kInvalidArgument, "%s.log_level: must be a HBBP_LOG_ value, or 0",
                      name);
  }
  if (options.max_memory != 0 && options.max_memory < HBBP_MIN_MEMORY) {
    return MakeStatus(StatusCode::kInvalidArgument,
                      "%s.max_memory: must be at least 1048576 bytes, or 0", name);
  }
  settings->max_memory = options.max_memory;
  if (options.log != nullptr) {
    settings->log = MakeLogSettings(options.log, options.log_user_data, options.log_level);
  }
  return ReadAllocator(options.allocator, &settings->allocator);
}

// NULL asks for nothing.
StatusOr<Work> ReadWork(const hbbp_work_options* given);

}  // namespace hbbp::capi

#endif  // HBBP_LIB_CAPI_HOST_HANDLE_H_
