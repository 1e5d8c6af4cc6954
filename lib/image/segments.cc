#include "image/segments.h"

#include <algorithm>

#include "base/linux_constants.h"

namespace hbbp {

Segments::Segments(const FileBytes* file, std::span<const Elf64_Phdr> headers) : file_(file) {
  for (const Elf64_Phdr& header : headers) {
    if (header.p_type != PT_LOAD || header.p_offset >= file->size()) continue;
    uint64_t size = std::min({header.p_filesz, header.p_memsz, file->size() - header.p_offset,
                              UINT64_MAX - header.p_vaddr});
    if (size == 0) continue;
    segments_.push_back({.range = {{header.p_vaddr}, {header.p_vaddr + size}},
                         .offset = {header.p_offset},
                         .executable = (header.p_flags & PF_X) != 0});
  }
  std::ranges::sort(segments_, {}, [](const Segment& segment) { return segment.range.start; });
  ModuleAddress end{0};
  std::erase_if(segments_, [&end](const Segment& segment) {
    if (segment.range.start < end) return true;
    end = segment.range.end;
    return false;
  });
}

const Segment* Segments::Find(ModuleAddress address) const {
  auto after = std::ranges::upper_bound(segments_, address, {},
                                        [](const Segment& segment) { return segment.range.start; });
  if (after == segments_.begin()) return nullptr;
  const Segment& segment = *std::prev(after);
  return segment.range.Contains(address) ? &segment : nullptr;
}

std::span<const uint8_t> Segments::SegmentBytes(const Segment& segment, ModuleAddress address,
                                                uint64_t size) const {
  return file_->Span(segment.offset + (address - segment.range.start),
                     std::min(size, segment.range.end - address));
}

std::span<const uint8_t> Segments::DataAt(ModuleAddress address, uint64_t size) const {
  const Segment* segment = Find(address);
  if (segment == nullptr) return {};
  return SegmentBytes(*segment, address, size);
}

std::span<const uint8_t> Segments::CodeAt(ModuleAddress address, uint64_t size) const {
  const Segment* segment = Find(address);
  if (segment == nullptr || !segment->executable) return {};
  return SegmentBytes(*segment, address, size);
}

std::optional<FileOffset> Segments::OffsetOfAddress(ModuleAddress address) const {
  const Segment* segment = Find(address);
  if (segment == nullptr) return std::nullopt;
  return segment->offset + (address - segment->range.start);
}

std::optional<ModuleAddress> Segments::AddressOfOffset(FileOffset offset) const {
  const Segment* same_page = nullptr;
  for (const Segment& segment : segments_) {
    uint64_t size = segment.range.end - segment.range.start;
    if (segment.offset <= offset && offset - segment.offset < size) {
      return segment.range.start + (offset - segment.offset);
    }
    if (offset < segment.offset && segment.offset.value / kPageBytes == offset.value / kPageBytes &&
        segment.offset - offset <= segment.range.start.value &&
        (same_page == nullptr || segment.executable)) {
      same_page = &segment;
    }
  }
  if (same_page == nullptr) return std::nullopt;
  return same_page->range.start - (same_page->offset - offset);
}

}  // namespace hbbp
