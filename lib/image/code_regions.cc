#include "image/code_regions.h"

#include <algorithm>

#include "image/plt.h"

namespace hbbp {
namespace {

std::vector<CodeRegion> CodeSections(const ElfFile& file) {
  std::vector<CodeRegion> sections;
  for (const ElfSection& section : file.sections()) {
    if (!section.IsCode() || section.header.sh_size == 0) continue;
    ModuleAddress start{section.header.sh_addr};
    uint64_t size = std::min(section.header.sh_size, UINT64_MAX - start.value);
    sections.push_back({{start, start + size}, PltEntrySize(section)});
  }
  std::ranges::sort(sections, {}, [](const CodeRegion& region) { return region.range.start; });
  return sections;
}

}  // namespace

CodeRegions::CodeRegions(const ElfFile& file, const Segments& segments) {
  std::vector<CodeRegion> sections = CodeSections(file);
  auto section = sections.begin();
  for (const Segment& segment : segments.all()) {
    if (!segment.executable) continue;
    ModuleAddress covered = segment.range.start;
    while (section != sections.end() && section->range.end <= covered) ++section;
    for (; section != sections.end() && section->range.start < segment.range.end; ++section) {
      ModuleAddress start = std::max(section->range.start, covered);
      ModuleAddress end = std::min(section->range.end, segment.range.end);
      if (start >= end) continue;
      if (covered < start) regions_.push_back({{covered, start}, 0});
      regions_.push_back({{start, end}, section->plt_entry_size});
      covered = end;
      // The rest of the section may lie in the next segment.
      if (section->range.end > segment.range.end) break;
    }
    if (covered < segment.range.end) regions_.push_back({{covered, segment.range.end}, 0});
  }
}

const CodeRegion* CodeRegions::Find(ModuleAddress address) const {
  auto after = std::ranges::upper_bound(
      regions_, address, {}, [](const CodeRegion& region) { return region.range.start; });
  if (after == regions_.begin()) return nullptr;
  const CodeRegion& region = *std::prev(after);
  return region.range.Contains(address) ? &region : nullptr;
}

}  // namespace hbbp
