#include "probe/probed_code.h"

#include <algorithm>
#include <array>
#include <optional>

#include "format.h"
#include "image/process_memory.h"

namespace hbbp::tools {

const ProbedCode::Entry& ProbedCode::Decode(uint64_t address) {
  const auto [found, is_new] = entries_.try_emplace(address);
  Entry* const entry = &found->second;
  if (is_new || entry->may_change) Fill(address, entry);
  return *entry;
}

void ProbedCode::Fill(uint64_t address, Entry* entry) {
  std::optional<uint32_t> index = mappings_.Find(address);
  if (!index) {
    mappings_.Read();
    index = mappings_.Find(address);
  }
  std::array<uint8_t, kInstructionBytes> bytes;
  size_t size = ReadProcessMemory(pid_, {address}, bytes);
  CodeLocation& location = locations_[address];
  location = {nullptr, address, 0};
  entry->may_change = true;
  InstructionSite site;
  site.pc = address;
  if (index) {
    const auto& [mapping, module] = mappings_[*index];
    entry->may_change = !mapping.IsFile() || mapping.writable;
    location.module = module;
    location.address = module->ModuleAddressFrom(mapping, address);
    site.module = *names_.emplace(BaseName(module->path)).first;
    if (module->image != nullptr) {
      const ModuleAddress at{location.address};
      if (const auto range = module->image->FunctionAround(at)) {
        location.function = range->start.value;
        site.function = address - (location.address - location.function);
      }
      if ((set_.keys() & SetOf(ProbeKey::kName)) != 0) {
        site.name = *names_.insert(Demangle(module->image->FunctionName(at).c_str())).first;
      }
      // The process may have ended before its stream was read.
      if (size == 0) {
        const std::span<const uint8_t> code = module->image->CodeAt(at, kInstructionBytes);
        size = std::min(code.size(), bytes.size());
        std::copy_n(code.begin(), size, bytes.begin());
      }
    }
  }
  const auto code = std::span<const uint8_t>(bytes).first(size);
  entry->kind = ClassifyInstruction(code);
  entry->is_instruction = set_.Prepare(code, site, &entry->instruction);
  entry->memory = {};
  if ((set_.keys() & kMemoryOperands) != 0) entry->memory = FindMemoryOperand(code, address);
}

CodeLocation ProbedCode::LocationOf(uint64_t address) const {
  const auto found = locations_.find(address);
  return found != locations_.end() ? found->second : CodeLocation{nullptr, address, 0};
}

}  // namespace hbbp::tools
