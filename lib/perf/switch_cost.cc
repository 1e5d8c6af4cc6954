#include "perf/switch_cost.h"

#include <sys/ioctl.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <cstdio>

#include "base/clock.h"
#include "perf/perf_event.h"

namespace hbbp {
namespace {

constexpr int kPairs = 16;
constexpr uint64_t kNotMeasured = UINT64_MAX;

std::atomic<uint64_t> known_switch_ns{kNotMeasured};

// Returns the CPU time of the shortest pair, since whatever else happens makes them longer.
std::optional<uint64_t> ShortestPairNs(const perf_event_attr& attr) {
  const UniqueFd event(RawPerfEventOpen(attr, 0, -1));
  if (!event.valid()) return std::nullopt;
  uint64_t shortest_ns = UINT64_MAX;
  for (int i = 0; i < kPairs; ++i) {
    const uint64_t begin_ns = ClockNs(CLOCK_THREAD_CPUTIME_ID);
    const bool is_done = ::ioctl(event.get(), PERF_EVENT_IOC_DISABLE, 0) == 0 &&
                         ::ioctl(event.get(), PERF_EVENT_IOC_ENABLE, 0) == 0;
    if (!is_done) return std::nullopt;
    shortest_ns = std::min(shortest_ns, ClockNs(CLOCK_THREAD_CPUTIME_ID) - begin_ns);
  }
  return shortest_ns;
}

}  // namespace

std::optional<uint64_t> MeasureSwitchNs(const perf_event_attr& attr) {
  perf_event_attr without_hardware = MakePerfEventAttr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY);
  without_hardware.exclude_kernel = 1;
  without_hardware.exclude_hv = 1;
  const std::optional<uint64_t> with_ns = ShortestPairNs(attr);
  if (!with_ns) return std::nullopt;
  const uint64_t without_ns = ShortestPairNs(without_hardware).value_or(0);
  return *with_ns - std::min(*with_ns, without_ns);
}

std::optional<uint64_t> CounterSwitchNs() {
  const uint64_t known = known_switch_ns;
  if (known != kNotMeasured) return known;
  perf_event_attr attr = MakePerfEventAttr(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS);
  attr.exclude_kernel = 1;
  attr.exclude_hv = 1;
  attr.sample_period = uint64_t{1} << 40;
  const std::optional<uint64_t> measured = MeasureSwitchNs(attr);
  if (measured) known_switch_ns = *measured;
  return measured;
}

std::string SwitchCostText(uint64_t switch_ns) {
  char text[96];
  std::snprintf(text, sizeof(text),
                "a counter of the PMU makes each context switch %.1f us longer here",
                static_cast<double>(switch_ns) / 1000);
  return text;
}

void ResetCounterSwitchNs() { known_switch_ns = kNotMeasured; }

}  // namespace hbbp
