#include <hbbp/capabilities.h>

#include <utility>
#include <vector>

#include "backends/branch_tracing_probe.h"
#include "capi/boundary.h"
#include "perf/capability_probe.h"

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

}  // extern "C"
