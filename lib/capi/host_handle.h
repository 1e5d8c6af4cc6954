// What a host gave, as the library uses it.
#ifndef HBBP_LIB_CAPI_HOST_HANDLE_H_
#define HBBP_LIB_CAPI_HOST_HANDLE_H_

#include <hbbp/host.h>

#include "base/counted_memory.h"
#include "base/status.h"
#include "base/work.h"

struct hbbp_cancel {
  hbbp::CancelFlag flag;
};

namespace hbbp::capi {

// NULL: operator new.
Status ReadAllocator(const hbbp_allocator* given, Allocator* allocator);

Work WorkOf(hbbp_progress progress, void* user_data, const hbbp_cancel* cancel);

}  // namespace hbbp::capi

#endif  // HBBP_LIB_CAPI_HOST_HANDLE_H_
