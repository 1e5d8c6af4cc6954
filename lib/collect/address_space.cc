#include "collect/address_space.h"

#include <algorithm>
#include <utility>

namespace hbbp {

size_t AddressSpace::SplitAt(RuntimeAddress address) {
  auto next = intervals_.upper_bound(address);
  if (next == intervals_.begin()) return 0;
  auto found = std::prev(next);
  if (found->first == address || found->second.end <= address) return 0;
  Interval upper = found->second;
  found->second.end = address;
  intervals_.emplace_hint(next, address, std::move(upper));
  return found->second.layers.size();
}

size_t AddressSpace::AddLayer(uint64_t time_ns, const Placement& placement,
                              std::vector<Layer>* layers) {
  auto position =
      std::upper_bound(layers->begin(), layers->end(), time_ns,
                       [](uint64_t time, const Layer& layer) { return time < layer.time_ns; });
  if (position == layers->begin()) {
    layers->insert(position, {time_ns, time_ns, placement});
    return 1;
  }
  Layer& below = *std::prev(position);
  if (below.placement == placement) {
    // An mprotect, or a library that is loaded twice, must not add layers without end.
    below.last_time_ns = std::max(below.last_time_ns, time_ns);
    return 0;
  }
  std::vector<Layer> added = {{time_ns, time_ns, placement}};
  const bool is_late = below.last_time_ns > time_ns;
  if (is_late) {
    // This mapping was delivered late: the one below has already been mapped again since.
    added.push_back({below.last_time_ns, below.last_time_ns, below.placement});
    below.last_time_ns = below.time_ns;
  }
  layers->insert(position, added.begin(), added.end());
  return is_late ? 2 : 1;
}

size_t AddressSpace::Add(RuntimeAddress start, RuntimeAddress end, uint64_t time_ns,
                         Placement placement, const std::function<bool(const Placement&)>& stays) {
  if (end <= start) return 0;
  newest_ns_ = std::max(newest_ns_, time_ns);
  size_t added = 0;
  for (const RuntimeAddress bound : {start, end}) added += SplitAt(bound);
  RuntimeAddress position = start;
  auto next = intervals_.lower_bound(start);
  while (position < end) {
    if (next == intervals_.end() || next->first > position) {
      const RuntimeAddress gap_end = next == intervals_.end() ? end : std::min(end, next->first);
      next = intervals_.emplace_hint(next, position, Interval{gap_end, {}});
    }
    const Placement* before = stays ? PlacementAt(next->second, time_ns) : nullptr;
    if (before == nullptr || !stays(*before)) {
      added += AddLayer(time_ns, placement, &next->second.layers);
    }
    position = next->second.end;
    ++next;
  }
  return added;
}

AddressSpace::Intervals::const_iterator AddressSpace::FirstAbove(RuntimeAddress address) const {
  const auto next = intervals_.upper_bound(address);
  if (next == intervals_.begin()) return next;
  const auto found = std::prev(next);
  return found->second.end > address ? found : next;
}

size_t AddressSpace::LayersToSplit(RuntimeAddress address) const {
  const auto found = FirstAbove(address);
  if (found == intervals_.end() || found->first >= address) return 0;
  return found->second.layers.size();
}

size_t AddressSpace::MaxAdded(RuntimeAddress start, RuntimeAddress end, uint64_t time_ns) const {
  if (end <= start) return 0;
  size_t added = LayersToSplit(start) + LayersToSplit(end);
  RuntimeAddress position = start;
  for (auto next = FirstAbove(start); next != intervals_.end() && next->first < end; ++next) {
    if (next->first > position) ++added;
    // One that is delivered late has the one below it above it as well.
    added += next->second.layers.back().last_time_ns > time_ns ? 2 : 1;
    position = next->second.end;
  }
  return position < end ? added + 1 : added;
}

std::optional<AddressSpace::PlacedRange> AddressSpace::FindRange(RuntimeAddress address,
                                                                 uint64_t time_ns) const {
  auto next = intervals_.upper_bound(address);
  if (next == intervals_.begin()) return std::nullopt;
  const auto& [start, interval] = *std::prev(next);
  if (interval.end <= address) return std::nullopt;
  const Placement* placement = PlacementAt(interval, time_ns);
  if (placement == nullptr) return std::nullopt;
  return PlacedRange{start, interval.end, *placement};
}

std::optional<AddressSpace::Placement> AddressSpace::FindAtOrBelow(RuntimeAddress address,
                                                                   uint64_t time_ns) const {
  for (auto next = intervals_.upper_bound(address); next != intervals_.begin();) {
    const Placement* placement = PlacementAt((--next)->second, time_ns);
    if (placement != nullptr) return *placement;
  }
  return std::nullopt;
}

std::optional<AddressSpace::Placement> AddressSpace::FindAbove(RuntimeAddress address,
                                                               uint64_t time_ns) const {
  for (auto next = intervals_.upper_bound(address); next != intervals_.end(); ++next) {
    const Placement* placement = PlacementAt(next->second, time_ns);
    if (placement != nullptr) return *placement;
  }
  return std::nullopt;
}

size_t AddressSpace::DropReplaced(uint64_t time_ns, const Placement& nothing) {
  size_t left = 0;
  for (auto next = intervals_.begin(); next != intervals_.end();) {
    std::vector<Layer>& layers = next->second.layers;
    const auto later =
        std::upper_bound(layers.begin(), layers.end(), time_ns,
                         [](uint64_t time, const Layer& layer) { return time < layer.time_ns; });
    if (later != layers.begin()) layers.erase(layers.begin(), std::prev(later));
    if (layers.size() == 1 && layers[0].time_ns <= time_ns && layers[0].placement == nothing) {
      next = intervals_.erase(next);
      continue;
    }
    // Capacity that is not counted must not add up over the intervals.
    if (layers.capacity() > 2 * layers.size()) layers.shrink_to_fit();
    left += layers.size();
    ++next;
  }
  return left;
}

const AddressSpace::Placement* AddressSpace::PlacementAt(const Interval& interval,
                                                         uint64_t time_ns) {
  for (auto layer = interval.layers.rbegin(); layer != interval.layers.rend(); ++layer) {
    if (layer->time_ns <= time_ns) return &layer->placement;
  }
  return nullptr;
}

std::optional<AddressSpace::Placement> AddressSpace::Find(RuntimeAddress address,
                                                          uint64_t time_ns) const {
  const auto range = FindRange(address, time_ns);
  if (!range) return std::nullopt;
  return range->placement;
}

}  // namespace hbbp
