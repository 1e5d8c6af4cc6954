#include "count/executable_mappings.h"

#include <algorithm>
#include <utility>

namespace hbbp::tools {

std::optional<uint32_t> ExecutableMappings::Find(uint64_t address) {
  const auto after = std::upper_bound(
      mappings_.begin(), mappings_.end(), address,
      [](uint64_t value, const MappedModule& p) { return value < p.mapping.start.value; });
  if (after == mappings_.begin()) return std::nullopt;
  MappedModule& mapped = *std::prev(after);
  if (!mapped.mapping.Contains({address})) return std::nullopt;
  // The module is read now, because the process may be gone when its counts are added up.
  if (mapped.module == nullptr) mapped.module = modules_->Of(mapped.mapping, pid_);
  return static_cast<uint32_t>(std::prev(after) - mappings_.begin());
}

void ExecutableMappings::Read(const std::function<void()>& before_change) {
  StatusOr<std::vector<Mapping>> mappings = ReadProcessMaps(pid_);
  if (!mappings.ok() || mappings->empty()) return;
  before_change();
  mappings_.clear();
  for (Mapping& mapping : *mappings) {
    if (mapping.executable) mappings_.push_back({std::move(mapping), nullptr});
  }
}

bool ExecutableMappings::Overlap(uint64_t start, uint64_t size) const {
  const uint64_t end = start + size < start ? UINT64_MAX : start + size;
  return std::any_of(mappings_.begin(), mappings_.end(), [&](const MappedModule& mapped) {
    return mapped.mapping.start.value < end && start < mapped.mapping.end.value;
  });
}

}  // namespace hbbp::tools
