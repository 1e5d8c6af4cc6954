// HostSettings are the settings of a host for sessions and imports: an allocator, a limit of
// memory, and a function for messages.
#ifndef HBBP_LIB_COLLECT_HOST_SETTINGS_H_
#define HBBP_LIB_COLLECT_HOST_SETTINGS_H_

#include <cstdint>

#include "base/counted_memory.h"
#include "collect/session_log.h"

namespace hbbp {

struct HostSettings {
  uint64_t max_memory = 0;  // in bytes; 0: no limit
  Allocator allocator;
  LogSettings log;
};

}  // namespace hbbp

#endif  // HBBP_LIB_COLLECT_HOST_SETTINGS_H_
