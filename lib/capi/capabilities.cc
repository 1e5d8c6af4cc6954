#include <hbbp/capabilities.h>

#include <utility>
#include <vector>

#include "backends/branch_tracing_probe.h"
#include "capi/boundary.h"
#include "collect/perf_event_kind.h"
#include "perf/capability_probe.h"
#include "perf/cpu_events.h"
#include "perf/event_name.h"
#include "perf/perf_event.h"

using hbbp::CapabilityState;
using hbbp::OkStatus;
using hbbp::Status;
using namespace hbbp::capi;  // NOLINT(google-build-using-namespace): C functions are global

static_assert(static_cast<int>(CapabilityState::kUnknown) == HBBP_CAPABILITY_UNKNOWN);
static_assert(static_cast<int>(CapabilityState::kSupported) == HBBP_CAPABILITY_SUPPORTED);
static_assert(static_cast<int>(CapabilityState::kMissing) == HBBP_CAPABILITY_MISSING);
static_assert(static_cast<int>(CapabilityState::kDenied) == HBBP_CAPABILITY_DENIED);

struct hbbp_capabilities {
  std::vector<hbbp::Capability> list;
};

extern "C" {

HBBP_API hbbp_status hbbp_capabilities_probe(hbbp_capabilities** capabilities, hbbp_error* error) {
  return Guard(error, [&]() -> Status {
    if (capabilities == nullptr) return NullArgument("hbbp_capabilities_probe", "capabilities");
    std::vector<hbbp::Capability> list = hbbp::ProbeCapabilities();
    for (hbbp::Capability& found : hbbp::ProbeBranchTracing()) list.push_back(std::move(found));
    *capabilities = new hbbp_capabilities{std::move(list)};
    return OkStatus();
  });
}

HBBP_API void hbbp_capabilities_destroy(hbbp_capabilities* capabilities) { delete capabilities; }

HBBP_API size_t hbbp_capabilities_count(const hbbp_capabilities* capabilities) {
  return capabilities == nullptr ? 0 : capabilities->list.size();
}

HBBP_API hbbp_status hbbp_capabilities_at(const hbbp_capabilities* capabilities, size_t index,
                                          hbbp_capability* capability, hbbp_error* error) {
  return Guard(error, [&]() -> Status {
    if (capabilities == nullptr) return NullArgument("hbbp_capabilities_at", "capabilities");
    if (capability == nullptr) return NullArgument("hbbp_capabilities_at", "capability");
    if (index >= capabilities->list.size()) {
      return BadIndex("hbbp_capabilities_at", index, capabilities->list.size());
    }
    const hbbp::Capability& found = capabilities->list[index];
    HBBP_INIT(hbbp_capability, full);
    full.state = static_cast<hbbp_capability_state>(found.state);
    full.name = found.name;
    full.detail = found.detail.c_str();
    full.advice = found.advice.c_str();
    return WriteOutput(full, "hbbp_capability", capability);
  });
}

HBBP_API hbbp_status hbbp_event_find(const char* name, hbbp_event_code* code, hbbp_error* error) {
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

}  // extern "C"
