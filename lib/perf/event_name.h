// Finds events by their names, as perf and libpfm4 spell them.
#ifndef HBBP_LIB_PERF_EVENT_NAME_H_
#define HBBP_LIB_PERF_EVENT_NAME_H_

#include <cstdint>
#include <string>

#include "base/status.h"

namespace hbbp {

struct EventCode {
  uint32_t type = 0;  // of perf_event_attr
  uint64_t config = 0;
};

// `name` is "r20c4", one that perf has for an event of the kernel ("cache-misses", "page-faults"),
// "taken-branches" (the event of this processor), or one that libpfm4 knows:
// "BR_INST_RETIRED:NEAR_TAKEN", "perf::task-clock". libpfm4 is loaded when it is first needed.
// Errors: kNotFound, kUnsupported (the name needs libpfm4, which is not there).
StatusOr<EventCode> FindEvent(const std::string& name);

}  // namespace hbbp

#endif  // HBBP_LIB_PERF_EVENT_NAME_H_
