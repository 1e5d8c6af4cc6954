#include "probe/probed_code.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "format.h"
#include "image/process_memory.h"

namespace hbbp::tools {

const ProbedCode::Entry& ProbedCode::Decode(uint64_t address) {
  const auto [found, is_new] = entries_.try_emplace(address);
  Entry* const entry = &found->second;
  if (!is_new && !entry->may_change) return *entry;
  std::array<uint8_t, kInstructionBytes> bytes;
  size_t size = ReadProcessMemory(pid_, {address}, bytes);
  if (!IsCurrent()) size = 0;
  const auto code = std::span<const uint8_t>(bytes).first(size);
  const std::span<const uint8_t> known = entry->instruction.code();
  const bool is_same = entry->is_instruction && code.size() >= known.size() &&
                       std::ranges::equal(known, code.first(known.size()));
  if (!is_same) Fill(address, code, entry);
  return *entry;
}

void ProbedCode::ReadMappings() {
  ExecutableMappings mappings = mappings_;
  mappings.Read();
  if (IsCurrent()) mappings_ = std::move(mappings);
}

void ProbedCode::Fill(uint64_t address, std::span<const uint8_t> code, Entry* entry) {
  std::optional<uint32_t> index = mappings_.Find(address);
  if (!index) {
    ReadMappings();
    index = mappings_.Find(address);
  }
  entry->may_change = true;
  InstructionSite site;
  site.pc = address;
  if (index) {
    const auto& [mapping, module] = mappings_[*index];
    Remember(mappings_[*index]);
    entry->may_change = !mapping.IsFile() || mapping.writable;
    site.module = *names_.emplace(BaseName(module->path)).first;
    if (module->image != nullptr) {
      const CodeLocation location = LocationOf(address);
      const ModuleAddress at{location.address};
      if (location.function != 0) site.function = address - (location.address - location.function);
      if ((set_.keys() & SetOf(ProbeKey::kName)) != 0) {
        site.name = *names_.insert(Demangle(module->image->FunctionName(at).c_str())).first;
      }
      if (code.empty() || (is_current_ != nullptr && !entry->may_change)) {
        code = module->image->CodeAt(at, kInstructionBytes);
      }
    }
  }
  entry->kind = ClassifyInstruction(code);
  entry->is_instruction = set_.Prepare(code, site, &entry->instruction);
  entry->memory = {};
  if ((set_.keys() & kMemoryOperands) != 0) entry->memory = FindMemoryOperand(code, address);
  if (entry->instruction.flow.has_target) {
    if (const auto at_target = mappings_.Find(entry->instruction.flow.target)) {
      Remember(mappings_[*at_target]);
    }
  }
}

void ProbedCode::Split(uint64_t address) {
  const auto after = known_.upper_bound(address);
  if (after == known_.begin()) return;
  const auto around = std::prev(after);
  if (around->first == address || around->second.end <= address) return;
  known_.emplace_hint(after, address, around->second);
  around->second.end = address;
}

void ProbedCode::Remember(const MappedModule& mapped) {
  const uint64_t start = mapped.mapping.start.value;
  const uint64_t end = mapped.mapping.end.value;
  const auto same = known_.find(start);
  if (same != known_.end() && same->second.end == end &&
      same->second.mapped.module == mapped.module &&
      same->second.mapped.mapping == mapped.mapping) {
    return;
  }
  Split(start);
  Split(end);
  known_.erase(known_.lower_bound(start), known_.lower_bound(end));
  known_.emplace(start, KnownMapping{end, mapped});
}

CodeLocation ProbedCode::LocationOf(uint64_t address) const {
  CodeLocation location{nullptr, address, 0};
  const auto after = known_.upper_bound(address);
  if (after == known_.begin()) return location;
  const KnownMapping& known = std::prev(after)->second;
  if (known.end <= address) return location;
  const auto& [mapping, module] = known.mapped;
  location.module = module;
  location.address = module->ModuleAddressFrom(mapping, address);
  if (module->image != nullptr) {
    const auto range = module->image->FunctionAround({location.address});
    if (range) location.function = range->start.value;
  }
  return location;
}

}  // namespace hbbp::tools
