#include "probes/reuse_distances.h"

#include <algorithm>

namespace hbbp {
namespace {

constexpr size_t kMinSlots = 1024;

}  // namespace

void ReuseDistances::Add(size_t slot, int32_t difference) {
  for (; slot < tree_.size(); slot += slot & -slot) tree_[slot] += difference;
}

uint64_t ReuseDistances::CountUpTo(size_t slot) const {
  uint64_t count = 0;
  for (; slot != 0; slot -= slot & -slot) count += static_cast<uint64_t>(tree_[slot]);
  return count;
}

uint64_t ReuseDistances::Access(uint64_t line) {
  if (next_slot_ >= tree_.size()) AssignSlots();
  const auto [last, is_first] = last_slots_.try_emplace(line, next_slot_);
  uint64_t distance = kFirst;
  if (!is_first) {
    if (last->second == next_slot_ - 1) return 0;
    distance = last_slots_.size() - CountUpTo(last->second);
    Add(last->second, -1);
    last->second = next_slot_;
  }
  Add(next_slot_++, 1);
  return distance;
}

void ReuseDistances::AssignSlots() {
  std::vector<std::pair<size_t, uint64_t>> order;  // slots and lines
  order.reserve(last_slots_.size());
  for (const auto& [line, slot] : last_slots_) order.emplace_back(slot, line);
  std::ranges::sort(order);
  tree_.assign(std::max(kMinSlots, 2 * order.size()) + 1, 0);
  next_slot_ = 1;
  for (const auto& [slot, line] : order) {
    last_slots_[line] = next_slot_;
    Add(next_slot_++, 1);
  }
}

}  // namespace hbbp
