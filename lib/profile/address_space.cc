#include "profile/address_space.h"

#include <algorithm>
#include <utility>

namespace hbbp {

void AddressSpace::SplitAt(RuntimeAddress address) {
  auto next = intervals_.upper_bound(address);
  if (next == intervals_.begin()) return;
  auto found = std::prev(next);
  if (found->first == address || found->second.end <= address) return;
  Interval upper = found->second;
  found->second.end = address;
  intervals_.emplace_hint(next, address, std::move(upper));
}

void AddressSpace::Add(RuntimeAddress start, RuntimeAddress end, uint64_t time_ns,
                       Placement placement) {
  if (end <= start) return;
  SplitAt(start);
  SplitAt(end);
  RuntimeAddress position = start;
  auto next = intervals_.lower_bound(start);
  while (position < end) {
    if (next == intervals_.end() || next->first > position) {
      const RuntimeAddress gap_end =
          next == intervals_.end() ? end : std::min(end, next->first);
      next = intervals_.emplace_hint(next, position, Interval{gap_end, {}});
    }
    auto& layers = next->second.layers;
    auto place = std::upper_bound(
        layers.begin(), layers.end(), time_ns,
        [](uint64_t time, const auto& layer) { return time < layer.first; });
    // The same again (an mprotect, a library loaded twice) says nothing new and must not pile up.
    const bool known = place != layers.begin() && std::prev(place)->second == placement;
    if (!known) layers.insert(place, {time_ns, placement});
    position = next->second.end;
    ++next;
  }
}

std::optional<AddressSpace::Placement> AddressSpace::Find(RuntimeAddress address,
                                                          uint64_t time_ns) const {
  auto next = intervals_.upper_bound(address);
  if (next == intervals_.begin()) return std::nullopt;
  const Interval& interval = std::prev(next)->second;
  if (interval.end <= address) return std::nullopt;
  for (auto layer = interval.layers.rbegin(); layer != interval.layers.rend(); ++layer) {
    if (layer->first <= time_ns) return layer->second;
  }
  return std::nullopt;
}

}  // namespace hbbp
