#include <hbbp/capabilities.h>

#include "capi/boundary.h"
#include "collect/perf_event_kind.h"
#include "perf/cpu_events.h"
#include "perf/event_name.h"
#include "perf/perf_event.h"

using hbbp::Status;
using namespace hbbp::capi;  // NOLINT(google-build-using-namespace): C functions are global

extern "C" HBBP_API hbbp_status hbbp_event_find(const char* name, hbbp_event_code* code,
                                                hbbp_error* error) {
  return Guard(error, [&]() -> Status {
    if (name == nullptr) return NullArgument("hbbp_event_find", "name");
    if (code == nullptr) return NullArgument("hbbp_event_find", "code");
    HBBP_ASSIGN_OR_RETURN(const hbbp::EventCode found, hbbp::FindEvent(name));
    const perf_event_attr attr = hbbp::MakePerfEventAttr(found.type, found.config);
    HBBP_INIT(hbbp_event_code, full);
    full.event = static_cast<hbbp_event>(hbbp::KindOfPerfEvent(attr, name, hbbp::ThisCpu().vendor));
    full.type = found.type;
    full.config = found.config;
    return WriteOutput(full, "hbbp_event_code", code);
  });
}
