// TraceTrigger is an event whose occurrences start the bursts of software branch tracing: a clock,
// taken branches, instructions, or any other event that perf counts in user code.
//
// Its signals do not carry a period, so each trigger has one that does not change: for a frequency
// only a clock will do, of which a period follows.
#ifndef HBBP_LIB_BACKENDS_TRACE_TRIGGER_H_
#define HBBP_LIB_BACKENDS_TRACE_TRIGGER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "backends/backend.h"
#include "base/status.h"
#include "events/samples.h"

namespace hbbp {

struct TraceTrigger {
  EventKind event = EventKind::kAuto;
  std::string name;   // as perf or the caller spells it, for messages
  uint32_t type = 0;  // as in perf_event_attr
  uint64_t config = 0;
  uint64_t period = 0;
  bool has_own_name = false;  // EventName(event) is not specific enough
  std::string note;           // what the caller may want to know about its period

  Unit unit() const { return UnitOf(event); }
  bool IsClock() const { return unit() == Unit::kNanoseconds; }
  bool IsOfPmu() const;
  // Returns the highest rate that is expected of a thread, in occurrences of the event.
  double FastestPerNs() const;
  // Returns what the weight of a burst is divided by. The interpreter counts taken branches, which
  // are streams, and instructions; the time of the program is estimated (burst_time.h). A burst of
  // another event says where it happened: its weight is divided among its streams, and counts are
  // in proportion to the event.
  BurstExtent Extent() const;
};

// Returns the triggers that the options allow, the best first: one, or several if the options leave
// the choice. Their periods follow from the options too.
// Errors: kInvalidArgument, if no event can do what the options ask for; the message says why.
StatusOr<std::vector<TraceTrigger>> FindTraceTriggers(const BackendConfig& config);

// The shortest period of a clock that is of use.
inline constexpr uint64_t kMinTraceClockNs = 20'011;

}  // namespace hbbp

#endif  // HBBP_LIB_BACKENDS_TRACE_TRIGGER_H_
