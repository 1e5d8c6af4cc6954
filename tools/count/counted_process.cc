#include "count/counted_process.h"

#include <algorithm>
#include <array>

#include "image/process_memory.h"

namespace hbbp::tools {
namespace {

// Marks addresses outside of all listed mappings, such as the vsyscall page of some kernels.
constexpr uint32_t kNoMapping = UINT32_MAX;

}  // namespace

std::optional<uint32_t> CountedProcess::FindMapping(uint64_t address) {
  if (const std::optional<uint32_t> known = mappings_.Find(address)) return known;
  // Entries of the table have indices into the old list.
  mappings_.Read([this] { UnmapAll(); });
  return mappings_.Find(address);
}

InstructionKind CountedProcess::ReadKind(uint64_t address) const {
  std::array<uint8_t, kInstructionBytes> bytes;
  const size_t size = ReadProcessMemory(pid_, {address}, bytes);
  return ClassifyInstruction(std::span(bytes).first(size));
}

AddressTable::Entry* CountedProcess::AddEntry(uint64_t address) {
  const std::optional<uint32_t> index = FindMapping(address);
  AddressTable::Entry* entry = table_.Insert(address);
  entry->mapping = index.value_or(kNoMapping);
  entry->kind = ReadKind(address);
  entry->may_change = true;
  if (!index) return entry;
  const Mapping& mapping = mappings_[*index].mapping;
  entry->may_change = !mapping.IsFile() || mapping.writable;
  return entry;
}

AddressTable::Entry* CountedProcess::EntryAt(uint64_t address) {
  AddressTable::Entry* entry = table_.Find(address);
  return entry != nullptr ? entry : AddEntry(address);
}

InstructionKind CountedProcess::Before(pid_t, uint64_t address) {
  AddressTable::Entry* entry = table_.Find(address);
  if (entry == nullptr) return AddEntry(address)->kind;
  if (entry->may_change) entry->kind = ReadKind(address);
  return entry->kind;
}

void CountedProcess::Unmap(uint64_t start, uint64_t size) {
  if (mappings_.Overlap(start, size)) UnmapAll();
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
  mappings_.Clear();
}

Status CountedProcess::Ended() {
  UnmapAll();
  return counts_.empty() ? OkStatus() : ended_(*this);
}

uint64_t CountedProcess::Total() const {
  uint64_t total = 0;
  for (const auto& [module, counts] : counts_) {
    for (const auto& [address, count] : counts) total += count;
  }
  return total;
}

}  // namespace hbbp::tools
