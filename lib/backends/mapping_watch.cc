#include "backends/mapping_watch.h"

#include <time.h>

#include <utility>
#include <vector>

#include "base/clock.h"
#include "events/current_mapping.h"
#include "image/process_maps.h"

namespace hbbp {

void MappingWatch::Compare(EventSink* sink) {
  const StatusOr<std::vector<Mapping>> mappings = ReadProcessMaps(pid_);
  if (!mappings.ok()) return;
  const uint64_t now = ClockNs(CLOCK_MONOTONIC);
  std::map<uint64_t, uint64_t> code;
  for (const Mapping& mapping : *mappings) {
    if (!mapping.executable) continue;
    code[mapping.start.value] = mapping.end.value;
    const auto known = known_.find(mapping.start.value);
    const bool is_known = known != known_.end() && known->second == mapping.end.value;
    if (is_known || known_.empty()) continue;
    sink->OnMapping(MappingAt(mapping, now));
  }
  known_ = std::move(code);
}

}  // namespace hbbp
