#include "count/counted_process.h"

#include <algorithm>
#include <array>

#include "image/process_memory.h"

namespace hbbp::tools {
namespace {

// Marks addresses outside of all listed mappings, such as the vsyscall page of some kernels.
constexpr uint32_t kNoMapping = UINT32_MAX;

}  // namespace

std::optional<uint32_t> CountedProcess::MappingAt(uint64_t address) {
  const auto find = [&]() -> std::optional<uint32_t> {
    const auto after = std::upper_bound(
        mappings_.begin(), mappings_.end(), address,
        [](uint64_t value, const MappedModule& p) { return value < p.mapping.start.value; });
    if (after == mappings_.begin()) return std::nullopt;
    if (!std::prev(after)->mapping.Contains({address})) return std::nullopt;
    return static_cast<uint32_t>(std::prev(after) - mappings_.begin());
  };
  if (const std::optional<uint32_t> known = find()) return known;
  StatusOr<std::vector<Mapping>> mappings = ReadProcessMaps(pid_);
  if (!mappings.ok() || mappings->empty()) return std::nullopt;
  // Entries of the table have indices into the old list.
  UnmapAll();
  for (Mapping& mapping : *mappings) {
    if (mapping.executable) mappings_.push_back({std::move(mapping), nullptr});
  }
  return find();
}

InstructionKind CountedProcess::ReadKind(uint64_t address) const {
  std::array<uint8_t, kInstructionBytes> bytes;
  const size_t size = ReadProcessMemory(pid_, {address}, bytes);
  return ClassifyInstruction(std::span(bytes).first(size));
}

AddressTable::Entry* CountedProcess::AddEntry(uint64_t address) {
  const std::optional<uint32_t> index = MappingAt(address);
  AddressTable::Entry* entry = table_.Insert(address);
  entry->mapping = index.value_or(kNoMapping);
  entry->kind = ReadKind(address);
  entry->may_change = true;
  if (!index) return entry;
  MappedModule& mapped = mappings_[*index];
  entry->may_change = !mapped.mapping.IsFile() || mapped.mapping.writable;
  // The module is read now, because the process may be gone when its counts are added up.
  if (mapped.module == nullptr) mapped.module = modules_->Of(mapped.mapping, pid_);
  return entry;
}

AddressTable::Entry* CountedProcess::EntryAt(uint64_t address) {
  AddressTable::Entry* entry = table_.Find(address);
  return entry != nullptr ? entry : AddEntry(address);
}

InstructionKind CountedProcess::KindAt(uint64_t address) {
  AddressTable::Entry* entry = table_.Find(address);
  if (entry == nullptr) return AddEntry(address)->kind;
  if (entry->may_change) entry->kind = ReadKind(address);
  return entry->kind;
}

void CountedProcess::Unmap(uint64_t start, uint64_t size) {
  const uint64_t end = start + size < start ? UINT64_MAX : start + size;
  const bool has_code =
      std::any_of(mappings_.begin(), mappings_.end(), [&](const MappedModule& mapped) {
        return mapped.mapping.start.value < end && start < mapped.mapping.end.value;
      });
  if (has_code) UnmapAll();
}

void CountedProcess::UnmapAll() {
  table_.ForEach([&](const AddressTable::Entry& entry) {
    if (entry.count == 0) return;
    if (entry.mapping == kNoMapping) {
      counts_[modules_->generated()][entry.address] += entry.count;
      return;
    }
    const auto& [mapping, module] = mappings_[entry.mapping];
    counts_[module][module->ModuleAddressFrom(mapping, entry.address)] += entry.count;
  });
  table_.Clear();
  mappings_.clear();
}

uint64_t CountedProcess::Total() const {
  uint64_t total = 0;
  for (const auto& [module, counts] : counts_) {
    for (const auto& [address, count] : counts) total += count;
  }
  return total;
}

}  // namespace hbbp::tools
