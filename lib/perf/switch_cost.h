// Measures what a counter of the PMU adds to each context switch of the threads that it is of.
//
// Leaving a thread, the kernel stops its counters and reads them; entering it, it writes and starts
// them. On bare metal that takes some hundred nanoseconds. In most virtual machines each access to
// a register of the PMU is a trap to the hypervisor, and a switch takes ten microseconds or more:
// servers then lose half of their throughput to an event that never takes a sample.
#ifndef HBBP_LIB_PERF_SWITCH_COST_H_
#define HBBP_LIB_PERF_SWITCH_COST_H_

#include <linux/perf_event.h>

#include <cstdint>
#include <optional>
#include <string>

namespace hbbp {

// If a switch costs more than this, no event of a counter is chosen by default.
inline constexpr uint64_t kMaxCheapSwitchNs = 3'000;

// Disables and enables the event, in the calling thread, which does to the PMU what leaving and
// entering the thread does, and subtracts the time of the same for an event without hardware. Takes
// the time of some 32 such pairs, a millisecond where they are dear. Returns nothing if the event
// cannot be opened.
std::optional<uint64_t> MeasureSwitchNs(const perf_event_attr& attr);

// Returns the cost of an event of retired instructions, which is measured once a process.
std::optional<uint64_t> CounterSwitchNs();

// Returns "a counter of the PMU makes each context switch 21.3 us longer here"
std::string SwitchCostText(uint64_t switch_ns);

// Makes the next CounterSwitchNs measure again, for tests.
void ResetCounterSwitchNs();

}  // namespace hbbp

#endif  // HBBP_LIB_PERF_SWITCH_COST_H_
