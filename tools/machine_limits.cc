#include "machine_limits.h"

#include <charconv>
#include <cstdint>
#include <optional>

#include "base/files.h"
#include "format.h"

namespace hbbp::tools {
namespace {

// The kernel starts with this limit.
constexpr uint64_t kUsualSampleRate = 100'000;

std::optional<uint64_t> ReadSetting(const std::string& directory, const char* name) {
  const StatusOr<std::string> text = ReadTextFile(directory + "/" + name);
  if (!text.ok()) return std::nullopt;
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
  if (error != std::errc() || end == text->data()) return std::nullopt;
  return value;
}

MachineLimit NmiWatchdog(const std::string& directory) {
  const std::optional<uint64_t> is_on = ReadSetting(directory, "nmi_watchdog");
  if (!is_on) return {"nmi_watchdog", "unknown", "kernel.nmi_watchdog cannot be read", ""};
  if (*is_on == 0) return {"nmi_watchdog", "supported", "off: it takes no counter of the PMU", ""};
  return {"nmi_watchdog", "denied", "on: it takes one counter of the PMU on each CPU",
          "where events have to take turns, as root sysctl kernel.nmi_watchdog=0"};
}

MachineLimit SampleRate(const std::string& directory) {
  const std::optional<uint64_t> rate = ReadSetting(directory, "perf_event_max_sample_rate");
  if (!rate) {
    return {"sample_rate", "unknown", "kernel.perf_event_max_sample_rate cannot be read", ""};
  }
  MachineLimit limit{"sample_rate", "supported",
                     "at most " + FormatCount(*rate) +
                         " samples a second and CPU (kernel.perf_event_max_sample_rate)",
                     ""};
  const std::optional<uint64_t> percent = ReadSetting(directory, "perf_cpu_time_max_percent");
  // The kernel takes 0 and 100 for no limit.
  if (percent && *percent != 0 && *percent < 100) {
    limit.detail +=
        ", which the kernel lowers where they take more than " + FormatCount(*percent) + " % of it";
  }
  if (*rate < kUsualSampleRate) {
    limit.advice =
        "somebody, or the kernel itself, has lowered it, and holds back what exceeds it: longer "
        "periods, or as root sysctl kernel.perf_event_max_sample_rate=100000";
  }
  return limit;
}

}  // namespace

std::vector<MachineLimit> ReadMachineLimits(const std::string& directory) {
  return {NmiWatchdog(directory), SampleRate(directory)};
}

}  // namespace hbbp::tools
