#include "image/memory_code.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace hbbp {

void MemoryCode::Add(ModuleAddress start, std::span<const uint8_t> bytes, std::string name) {
  if (bytes.empty() || start.value + bytes.size() < start.value) return;
  AddToRegions(start, bytes);
  if (!name.empty()) AddFunction({start, start + bytes.size()}, std::move(name));
}

void MemoryCode::AddFunction(AddressRange range, std::string name) {
  const auto next = functions_.lower_bound(range.start);
  const bool overlaps = (next != functions_.end() && next->first < range.end) ||
                        (next != functions_.begin() && std::prev(next)->second.end > range.start);
  if (!overlaps) functions_.emplace_hint(next, range.start, Function{range.end, std::move(name)});
}

void MemoryCode::AddToRegions(ModuleAddress start, std::span<const uint8_t> bytes) {
  if (!regions_.empty() && regions_.rbegin()->first <= start) {
    auto& [last_start, last] = *regions_.rbegin();
    const uint64_t offset = start - last_start;
    if (offset <= last.size()) {
      const uint64_t known = std::min<uint64_t>(last.size() - offset, bytes.size());
      last.insert(last.end(), bytes.begin() + static_cast<std::ptrdiff_t>(known), bytes.end());
      return;
    }
  }
  // Every region that touches the new piece is merged with it.
  ModuleAddress region_start = start;
  ModuleAddress region_end = start + bytes.size();
  auto first = regions_.upper_bound(start);
  while (first != regions_.begin() &&
         std::prev(first)->first + std::prev(first)->second.size() >= start) {
    --first;
  }
  auto last = first;
  for (; last != regions_.end() && last->first <= region_end; ++last) {
    region_start = std::min(region_start, last->first);
    region_end = std::max(region_end, last->first + last->second.size());
  }
  std::vector<uint8_t> region(region_end - region_start);
  std::copy(bytes.begin(), bytes.end(), region.begin() + (start - region_start));
  for (auto old = first; old != last; ++old) {
    std::copy(old->second.begin(), old->second.end(), region.begin() + (old->first - region_start));
  }
  regions_.erase(first, last);
  regions_.emplace(region_start, std::move(region));
}

std::span<const uint8_t> MemoryCode::CodeAt(ModuleAddress address, size_t size) const {
  auto next = regions_.upper_bound(address);
  if (next == regions_.begin()) return {};
  const auto& [start, bytes] = *std::prev(next);
  const uint64_t offset = address - start;
  if (offset >= bytes.size()) return {};
  return std::span(bytes).subspan(offset, std::min<uint64_t>(size, bytes.size() - offset));
}

std::span<const uint8_t> MemoryCode::DataAt(ModuleAddress address, size_t size) const {
  return CodeAt(address, size);
}

std::optional<AddressRange> MemoryCode::FunctionAround(ModuleAddress address) const {
  const auto next = functions_.upper_bound(address);
  ModuleAddress known_end{0};
  if (next != functions_.begin()) {
    const auto& [start, function] = *std::prev(next);
    if (address < function.end) return AddressRange{start, function.end};
    known_end = function.end;
  }
  const auto next_region = regions_.upper_bound(address);
  if (next_region == regions_.begin()) return std::nullopt;
  const auto& [start, bytes] = *std::prev(next_region);
  AddressRange range{start, start + bytes.size()};
  if (!range.Contains(address)) return std::nullopt;
  range.start = std::max(range.start, known_end);
  if (next != functions_.end()) range.end = std::min(range.end, next->first);
  return range;
}

std::string MemoryCode::FunctionName(ModuleAddress address) const {
  const auto next = functions_.upper_bound(address);
  if (next == functions_.begin()) return {};
  const Function& function = std::prev(next)->second;
  return address < function.end ? function.name : std::string();
}

}  // namespace hbbp
