#include "image/memory_code.h"

#include <algorithm>
#include <utility>

namespace hbbp {

void MemoryCode::Add(ModuleAddress start, std::span<const uint8_t> bytes) {
  if (bytes.empty() || start.value + bytes.size() < start.value) return;
  // Everything that touches the new piece becomes one region with it.
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
  auto next = regions_.upper_bound(address);
  if (next == regions_.begin()) return std::nullopt;
  const auto& [start, bytes] = *std::prev(next);
  const AddressRange range{start, start + bytes.size()};
  if (!range.Contains(address)) return std::nullopt;
  return range;
}

}  // namespace hbbp
