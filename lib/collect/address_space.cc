#include "collect/address_space.h"

#include <algorithm>
#include <utility>

namespace hbbp {

bool AddressSpace::SplitAt(RuntimeAddress address) {
  auto next = intervals_.upper_bound(address);
  if (next == intervals_.begin()) return false;
  auto found = std::prev(next);
  if (found->first == address || found->second.end <= address) return false;
  Interval upper = found->second;
  found->second.end = address;
  intervals_.emplace_hint(next, address, std::move(upper));
  return true;
}

bool AddressSpace::AddLayer(uint64_t time_ns, const Placement& placement,
                            std::vector<Layer>* layers) {
  auto position =
      std::upper_bound(layers->begin(), layers->end(), time_ns,
                       [](uint64_t time, const Layer& layer) { return time < layer.time_ns; });
  if (position == layers->begin()) {
    layers->insert(position, {time_ns, time_ns, placement});
    return true;
  }
  Layer& below = *std::prev(position);
  if (below.placement == placement) {
    // An mprotect, or a library that is loaded twice, must not add layers without end.
    below.last_time_ns = std::max(below.last_time_ns, time_ns);
    return false;
  }
  std::vector<Layer> added = {{time_ns, time_ns, placement}};
  if (below.last_time_ns > time_ns) {
    // This mapping was delivered late: the one below has already been mapped again since.
    added.push_back({below.last_time_ns, below.last_time_ns, below.placement});
    below.last_time_ns = below.time_ns;
  }
  layers->insert(position, added.begin(), added.end());
  return true;
}

size_t AddressSpace::Add(RuntimeAddress start, RuntimeAddress end, uint64_t time_ns,
                         Placement placement, const std::function<bool(const Placement&)>& stays) {
  if (end <= start) return 0;
  newest_ns_ = std::max(newest_ns_, time_ns);
  size_t added = 0;
  for (const RuntimeAddress bound : {start, end}) added += SplitAt(bound) ? 1 : 0;
  RuntimeAddress position = start;
  auto next = intervals_.lower_bound(start);
  while (position < end) {
    if (next == intervals_.end() || next->first > position) {
      const RuntimeAddress gap_end = next == intervals_.end() ? end : std::min(end, next->first);
      next = intervals_.emplace_hint(next, position, Interval{gap_end, {}});
    }
    const Placement* before = stays ? PlacementAt(next->second, time_ns) : nullptr;
    if (before == nullptr || !stays(*before)) {
      added += AddLayer(time_ns, placement, &next->second.layers) ? 1 : 0;
    }
    position = next->second.end;
    ++next;
  }
  return added;
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
