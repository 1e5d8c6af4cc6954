// What the kernel's settings take away from sampling, for hbbp doctor.
#ifndef HBBP_TOOLS_MACHINE_LIMITS_H_
#define HBBP_TOOLS_MACHINE_LIMITS_H_

#include <string>
#include <vector>

namespace hbbp::tools {

// A row of hbbp doctor.
struct MachineLimit {
  std::string name;
  std::string state;  // "supported", "denied", "unknown"
  std::string detail;
  std::string advice;
};

// Reads nmi_watchdog, perf_event_max_sample_rate and perf_cpu_time_max_percent of the directory,
// which is /proc/sys/kernel but in tests.
std::vector<MachineLimit> ReadMachineLimits(const std::string& directory);

}  // namespace hbbp::tools

#endif  // HBBP_TOOLS_MACHINE_LIMITS_H_
