#include "symbols/unit_index.h"

#include <algorithm>
#include <tuple>

namespace hbbp {

// Sorted ranges that are open form a stack, of which the top holds; a range that ends below others
// is removed when it comes to the top.
UnitIndex::UnitIndex(std::vector<UnitRange> ranges) {
  std::sort(ranges.begin(), ranges.end(), [](const UnitRange& a, const UnitRange& b) {
    return std::tuple(a.range.start, b.range.end, b.unit) <
           std::tuple(b.range.start, a.range.end, a.unit);
  });
  std::vector<const UnitRange*> open;
  const auto end_those_up_to = [&](ModuleAddress address) {
    while (!open.empty() && open.back()->range.end <= address) {
      const ModuleAddress end = open.back()->range.end;
      while (!open.empty() && open.back()->range.end <= end) open.pop_back();
      Add(end, open.empty() ? kNoUnit : open.back()->unit);
    }
  };
  for (const UnitRange& range : ranges) {
    end_those_up_to(range.range.start);
    Add(range.range.start, range.unit);
    open.push_back(&range);
  }
  end_those_up_to({UINT64_MAX});
  changes_.shrink_to_fit();
}

void UnitIndex::Add(ModuleAddress address, uint32_t unit) {
  if (!changes_.empty() && changes_.back().address == address) changes_.pop_back();
  const uint32_t before = changes_.empty() ? kNoUnit : changes_.back().unit;
  if (unit != before) changes_.push_back({address, unit});
}

uint32_t UnitIndex::Find(ModuleAddress address, AddressRange* range) const {
  const auto next = std::upper_bound(
      changes_.begin(), changes_.end(), address,
      [](ModuleAddress wanted, const Change& change) { return wanted < change.address; });
  if (next != changes_.end()) range->end = std::min(range->end, next->address);
  if (next == changes_.begin()) return kNoUnit;
  const Change& found = *std::prev(next);
  range->start = std::max(range->start, found.address);
  return found.unit;
}

}  // namespace hbbp
