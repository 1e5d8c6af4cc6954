// The PMUs of this machine, by the types that the kernel gave them when it started.
#ifndef HBBP_LIB_SESSION_PMU_TYPES_H_
#define HBBP_LIB_SESSION_PMU_TYPES_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace hbbp {

// Returns the perf_event_attr.type and the name of each PMU. `sysfs` is where event sources are
// listed.
std::vector<std::pair<uint32_t, std::string>> PmuTypes(
    const std::string& sysfs = "/sys/bus/event_source/devices");

}  // namespace hbbp

#endif  // HBBP_LIB_SESSION_PMU_TYPES_H_
