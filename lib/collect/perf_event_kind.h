// Finds out what an event of a recording counts.
#ifndef HBBP_LIB_COLLECT_PERF_EVENT_KIND_H_
#define HBBP_LIB_COLLECT_PERF_EVENT_KIND_H_

#include <linux/perf_event.h>

#include <string>
#include <string_view>

#include "events/samples.h"

namespace hbbp {

// `name` is perf's ("br_inst_retired.near_taken:u"), `cpu_id` is the processor in the header of the
// recording ("GenuineIntel,6,85,4"); both may be empty.
EventKind KindOfPerfEvent(const perf_event_attr& attr, std::string_view name,
                          std::string_view cpu_id);

}  // namespace hbbp

#endif  // HBBP_LIB_COLLECT_PERF_EVENT_KIND_H_
