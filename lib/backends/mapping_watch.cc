#include "backends/mapping_watch.h"

#include <time.h>

#include <iterator>
#include <utility>

#include "base/clock.h"
#include "events/current_mapping.h"

namespace hbbp {

void MappingWatch::Compare(EventSink* sink) {
  const StatusOr<std::vector<Mapping>> mappings = ReadProcessMaps(pid_);
  if (mappings.ok()) Compare(*mappings, sink);
}

void MappingWatch::Compare(const std::vector<Mapping>& mappings, EventSink* sink) {
  const uint64_t now = ClockNs(CLOCK_MONOTONIC);
  std::map<uint64_t, uint64_t> code;
  for (const Mapping& mapping : mappings) {
    if (!mapping.executable) continue;
    code[mapping.start.value] = mapping.end.value;
    const auto known = known_.find(mapping.start.value);
    const bool is_known = known != known_.end() && known->second == mapping.end.value;
    if (is_known || known_.empty()) continue;
    sink->OnMapping(MappingAt(mapping, now));
  }
  known_ = std::move(code);
}

bool MappingWatch::Covers(uint64_t address) const {
  const auto next = known_.upper_bound(address);
  return next != known_.begin() && address < std::prev(next)->second;
}

}  // namespace hbbp
