// Finds out by trying what this machine, kernel and user can do.
#ifndef HBBP_LIB_PERF_CAPABILITY_PROBE_H_
#define HBBP_LIB_PERF_CAPABILITY_PROBE_H_

#include <string>
#include <vector>

namespace hbbp {

// The values are those of hbbp_capability_state; capi/ asserts it.
enum class CapabilityState : int { kUnknown = 0, kSupported = 1, kMissing = 2, kDenied = 3 };

struct Capability {
  const char* name;
  CapabilityState state;
  std::string detail;
  std::string advice;
};

std::vector<Capability> ProbeCapabilities();

}  // namespace hbbp

#endif  // HBBP_LIB_PERF_CAPABILITY_PROBE_H_
