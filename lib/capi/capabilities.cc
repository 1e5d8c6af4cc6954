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

namespace {

hbbp_capability GetCapability(const hbbp_capabilities& capabilities, size_t index) {
  const hbbp::Capability& found = capabilities.list[index];
  HBBP_INIT(hbbp_capability, capability);
  capability.state = static_cast<hbbp_capability_state>(found.state);
  capability.name = found.name;
  capability.detail = found.detail.c_str();
  capability.advice = found.advice.c_str();
  return capability;
}

}  // namespace

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

HBBP_API hbbp_status hbbp_capabilities_copy(const hbbp_capabilities* capabilities, size_t first,
                                            size_t count, size_t size, hbbp_capability* elements,
                                            size_t* copied, hbbp_error* error) {
  return CopyHandleList({"hbbp_capabilities_copy", "hbbp_capability", "elements"}, "capabilities",
                        capabilities, hbbp_capabilities_count(capabilities), {first, count, size},
                        elements, copied, error, &GetCapability);
}

}  // extern "C"
