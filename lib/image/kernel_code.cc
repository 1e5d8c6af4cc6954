#include "image/kernel_code.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace hbbp {
namespace {

// Returns whether relocation by `slide` changes the Integer at `file` into the one at `live`.
// Distances to what does not move, such as per-CPU variables, shrink.
template <typename Integer>
bool IsRelocated(const uint8_t* live, const uint8_t* file, uint64_t slide) {
  Integer now, before;
  std::memcpy(&now, live, sizeof(now));
  std::memcpy(&before, file, sizeof(before));
  const auto distance = static_cast<Integer>(slide);
  return distance != 0 && (static_cast<Integer>(before + distance) == now ||
                           static_cast<Integer>(before - distance) == now);
}

AddressRange Slide(const AddressRange& range, uint64_t slide) {
  return {range.start + slide, range.end + slide};
}

}  // namespace

uint64_t CountPatchedBytes(std::span<const uint8_t> live, std::span<const uint8_t> file,
                           uint64_t slide) {
  const size_t size = std::min(live.size(), file.size());
  // Returns the end of the relocated address that contains byte `i`, or 0 if there is none.
  const auto relocated_around = [&](size_t i, size_t done) -> size_t {
    for (const size_t bytes : {size_t{8}, size_t{4}}) {
      for (size_t first = std::max(i + 1 >= bytes ? i + 1 - bytes : 0, done);
           first <= i && first + bytes <= size; ++first) {
        const bool is_relocated = bytes == 4
                                      ? IsRelocated<uint32_t>(&live[first], &file[first], slide)
                                      : IsRelocated<uint64_t>(&live[first], &file[first], slide);
        if (is_relocated) return first + bytes;
      }
    }
    return 0;
  };
  uint64_t patched = 0;
  for (size_t i = 0, done = 0; i < size; ++i) {
    if (live[i] == file[i] || i < done) continue;
    const size_t end = relocated_around(i, done);
    if (end == 0) {
      ++patched;
    } else {
      done = end;
    }
  }
  return patched;
}

KernelCode::KernelCode(KernelParts parts)
    : parts_(std::move(parts)),
      vmlinux_has_symbols_(parts_.vmlinux != nullptr && parts_.vmlinux->HasSymbols()) {
  for (const MemoryCode* code : {&parts_.poked, &parts_.captured}) {
    memory_.AddLayer([code](ModuleAddress address, std::span<uint8_t> buffer) {
      const std::span<const uint8_t> found = code->CodeAt(address, buffer.size());
      std::ranges::copy(found, buffer.begin());
      return found.size();
    });
  }
  if (parts_.core != nullptr) {
    memory_.AddLayer([this](ModuleAddress address, std::span<uint8_t> buffer) {
      return parts_.core->Read(address, buffer);
    });
  }
  if (parts_.vmlinux != nullptr) {
    memory_.AddLayer([this](ModuleAddress address, std::span<uint8_t> buffer) {
      const std::span<const uint8_t> found =
          parts_.vmlinux->DataAt(address - parts_.vmlinux_slide, buffer.size());
      std::ranges::copy(found, buffer.begin());
      return found.size();
    });
  }
}

std::span<const uint8_t> KernelCode::CodeAt(ModuleAddress address, size_t size) const {
  return memory_.At(address, size);
}

std::span<const uint8_t> KernelCode::DataAt(ModuleAddress address, size_t size) const {
  return memory_.At(address, size);
}

std::optional<KernelCode::Found> KernelCode::FindIn(const std::vector<NamedRange>& ranges,
                                                    ModuleAddress address) const {
  const auto after = std::ranges::upper_bound(
      ranges, address, {}, [](const NamedRange& named) { return named.range.start; });
  if (after == ranges.begin() || !std::prev(after)->range.Contains(address)) return std::nullopt;
  return Found{std::prev(after)->range, std::prev(after)->name};
}

// Kallsyms that were read later may have a symbol before the address, but not that of the function.
std::optional<KernelCode::Found> KernelCode::FindGenerated(ModuleAddress address) const {
  std::optional<Found> found = FindIn(parts_.functions, address);
  if (!found) return std::nullopt;
  const uint64_t size = found->range.end - found->range.start;
  const bool is_whole = parts_.poked.CodeAt(found->range.start, size).size() == size;
  return is_whole ? std::move(found) : std::nullopt;
}

std::optional<KernelCode::Found> KernelCode::FindInVmlinux(ModuleAddress address) const {
  if (parts_.vmlinux == nullptr) return std::nullopt;
  const ModuleAddress in_file = address - parts_.vmlinux_slide;
  const auto range = parts_.vmlinux->FunctionAround(in_file);
  if (!range) return std::nullopt;
  return Found{Slide(*range, parts_.vmlinux_slide), parts_.vmlinux->FunctionName(in_file)};
}

std::optional<KernelCode::Found> KernelCode::FindInSymbols(ModuleAddress address) const {
  if (parts_.symbols == nullptr) return std::nullopt;
  const ModuleAddress in_file = address - parts_.symbols_slide;
  const auto range = parts_.symbols->FunctionAround(in_file);
  if (!range) return std::nullopt;
  const std::string module = parts_.symbols->KernelModule(in_file);
  // Kernel modules do not move with the kernel.
  if (!module.empty() && parts_.symbols_slide != 0) return std::nullopt;
  std::string name = parts_.symbols->FunctionName(in_file);
  if (!module.empty()) name += " [" + module + "]";
  return Found{Slide(*range, parts_.symbols_slide), std::move(name)};
}

std::optional<KernelCode::Found> KernelCode::FindSegment(ModuleAddress address) const {
  if (const auto captured = parts_.captured.FunctionAround(address)) return Found{*captured, ""};
  if (memory_.At(address, 1).empty()) return std::nullopt;
  std::optional<AddressRange> segment;
  if (parts_.core != nullptr) segment = parts_.core->SegmentAround(address);
  if (!segment) segment = parts_.poked.FunctionAround(address);
  return segment ? std::optional(Found{*segment, ""}) : std::nullopt;
}

std::optional<KernelCode::Found> KernelCode::Find(ModuleAddress address) const {
  std::optional<Found> found = FindGenerated(address);
  if (!found && vmlinux_has_symbols_) found = FindInVmlinux(address);
  if (!found) {
    found = FindInSymbols(address);
    std::optional<Found> recorded = FindIn(parts_.functions, address);
    // Kallsyms has no sizes: a BPF program that it has no more seems to belong to the one before.
    if (recorded && (!found || found->range.start < recorded->range.start)) {
      found = std::move(recorded);
    }
  }
  if (!found) found = FindInVmlinux(address);
  if (!found) found = FindIn(parts_.modules, address);
  if (!found) found = FindSegment(address);
  return found;
}

std::optional<AddressRange> KernelCode::FunctionAround(ModuleAddress address) const {
  const std::optional<Found> found = Find(address);
  return found ? std::optional(found->range) : std::nullopt;
}

std::string KernelCode::FunctionName(ModuleAddress address) const {
  return Find(address).value_or(Found()).name;
}

bool KernelCode::IsLive(ModuleAddress address) const {
  uint8_t byte = 0;
  return !parts_.captured.CodeAt(address, 1).empty() ||
         (parts_.core != nullptr && parts_.core->Read(address, {&byte, 1}) == 1);
}

uint64_t KernelCode::PatchedBytes(const AddressRange& range) const {
  if (parts_.vmlinux == nullptr) return 0;
  const uint64_t size = range.end - range.start;
  return CountPatchedBytes(memory_.At(range.start, size),
                           parts_.vmlinux->CodeAt(range.start - parts_.vmlinux_slide, size),
                           parts_.vmlinux_slide);
}

}  // namespace hbbp
