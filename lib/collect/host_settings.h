// What a host gives to whatever collects: memory, how much of it, and where messages go.
#ifndef HBBP_LIB_COLLECT_HOST_SETTINGS_H_
#define HBBP_LIB_COLLECT_HOST_SETTINGS_H_

#include <cstdint>

#include "base/counted_memory.h"
#include "collect/session_log.h"

namespace hbbp {

struct HostSettings {
  uint64_t max_memory = 0;  // bytes; 0: any
  Allocator allocator;
  LogSettings log;
};

}  // namespace hbbp

#endif  // HBBP_LIB_COLLECT_HOST_SETTINGS_H_
