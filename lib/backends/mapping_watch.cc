#include "backends/mapping_watch.h"

#include <time.h>

#include <iterator>
#include <utility>

#include "base/clock.h"
#include "events/current_mapping.h"

namespace hbbp {

void MappingWatch::Compare(EventSink* sink) {
  const uint64_t read_ns = ClockNs(CLOCK_MONOTONIC);
  const StatusOr<std::vector<Mapping>> mappings = ReadProcessMaps(pid_);
  if (mappings.ok()) Compare(*mappings, read_ns, sink);
}

void MappingWatch::Compare(const std::vector<Mapping>& mappings, uint64_t read_ns,
                           EventSink* sink) {
  std::map<uint64_t, Known> code;
  for (const Mapping& mapping : mappings) {
    if (!mapping.executable) continue;
    const Known found = {mapping.end.value, mapping.inode, mapping.offset.value};
    code[mapping.start.value] = found;
    const auto known = known_.find(mapping.start.value);
    const bool is_known = known != known_.end() && known->second == found;
    if (is_known || !has_compared_) continue;
    sink->OnMapping(MappingAt(mapping, WasFree(mapping) ? last_ns_ + 1 : read_ns));
  }
  known_ = std::move(code);
  has_compared_ = true;
  last_ns_ = read_ns;
}

bool MappingWatch::Covers(uint64_t address) const {
  const auto next = known_.upper_bound(address);
  return next != known_.begin() && address < std::prev(next)->second.end;
}

bool MappingWatch::WasFree(const Mapping& mapping) const {
  const auto next = known_.lower_bound(mapping.start.value);
  const bool meets_next = next != known_.end() && next->first < mapping.end.value;
  return !meets_next && !Covers(mapping.start.value);
}

}  // namespace hbbp
