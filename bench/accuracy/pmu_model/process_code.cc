#include "pmu_model/process_code.h"

#include <iterator>
#include <optional>

#include "base/linux_constants.h"
#include "image/process_maps.h"
#include "image/segments.h"

namespace hbbp::simulation {
namespace {

// Returns the address in the file of an offset that executable memory was mapped from. That is of a
// whole page, of which the start may be in another segment.
std::optional<ModuleAddress> AddressOfCode(const ElfImage& image, FileOffset offset) {
  for (const Segment& segment : image.LoadSegments()) {
    const uint64_t size = segment.range.end - segment.range.start;
    const uint64_t first = segment.offset.value / kPageBytes * kPageBytes;
    const bool is_in = first <= offset.value && offset.value < segment.offset.value + size;
    if (!segment.executable || !is_in) continue;
    return ModuleAddress{segment.range.start.value - segment.offset.value + offset.value};
  }
  return std::nullopt;
}

}  // namespace

void ProcessCode::ReadMappings() {
  const StatusOr<std::vector<Mapping>> mappings = ReadProcessMaps(pid_);
  if (!mappings.ok()) return;
  for (const Mapping& mapping : *mappings) {
    if (!mapping.executable || mapped_.contains(mapping.start.value)) continue;
    Mapped mapped;
    mapped.module.path = mapping.path;
    mapped.module.start = mapping.start.value;
    mapped.module.end = mapping.end.value;
    mapped.module.offset = mapping.offset.value;
    if (mapping.IsFile() && !mapping.deleted) {
      auto [image, is_new] = images_.try_emplace(mapping.path);
      if (is_new) {
        if (auto opened = ElfImage::Open(mapping.path); opened.ok()) {
          image->second = *std::move(opened);
        }
      }
      if (image->second != nullptr) {
        if (const auto address = AddressOfCode(*image->second, mapping.offset)) {
          mapped.image = image->second;
          mapped.module.load_bias = mapping.start.value - address->value;
          const auto build_id = mapped.image->build_id();
          mapped.module.build_id.assign(build_id.begin(), build_id.end());
        }
      }
    }
    mapped_.emplace(mapping.start.value, std::move(mapped));
  }
}

const ProcessCode::Mapped* ProcessCode::Find(uint64_t address) {
  for (const bool is_last : {false, true}) {
    const auto after = mapped_.upper_bound(address);
    if (after != mapped_.begin() && address < std::prev(after)->second.module.end) {
      return &std::prev(after)->second;
    }
    if (!is_last) ReadMappings();
  }
  return nullptr;
}

std::optional<TraceInstruction> ProcessCode::At(uint64_t address) {
  const Mapped* mapped = Find(address);
  if (mapped == nullptr || mapped->image == nullptr) return std::nullopt;
  const auto code =
      mapped->image->CodeAt({address - mapped->module.load_bias}, kMaxInstructionLength);
  ControlFlow flow;
  if (!DecodeControlFlow(code, address, &flow)) return std::nullopt;
  return TraceInstruction{address, flow.length, flow.kind, ClassOf(code)};
}

std::vector<TraceModule> ProcessCode::Modules() const {
  std::vector<TraceModule> modules;
  for (const auto& [start, mapped] : mapped_) {
    if (mapped.image != nullptr) modules.push_back(mapped.module);
  }
  return modules;
}

}  // namespace hbbp::simulation
