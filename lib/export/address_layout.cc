// The constructor merges the pages of used code (MergePages), replaces them by segments where there
// is a file (MapModule), and then moves the files that may be anywhere (MoveFiles).
#include "export/address_layout.h"

#include <algorithm>
#include <iterator>
#include <span>
#include <string_view>
#include <tuple>

#include "export/file_name.h"
#include "image/elf_image.h"

namespace hbbp {
namespace {

constexpr uint64_t kPageBytes = 4096;
// Where the kernel maps libraries, approximately.
constexpr uint64_t kFirstFile = 0x7f0000000000;
constexpr uint64_t kFileAlignment = 2 << 20;
// Code in memory with a larger gap in between was not mapped at once.
constexpr uint64_t kMaxGap = 1 << 20;

uint64_t PageDown(uint64_t address) { return address & ~(kPageBytes - 1); }
uint64_t PageUp(uint64_t address) { return PageDown(address + kPageBytes - 1); }
uint64_t FileUp(uint64_t address) { return (address + kFileAlignment - 1) & ~(kFileAlignment - 1); }

MappedCode Unmoved(uint32_t module, AddressRange code, uint64_t file_offset) {
  const AddressRange range{{PageDown(code.start.value)}, {PageUp(code.end.value)}};
  return {module, range, range.start.value, PageDown(file_offset)};
}

bool IsBefore(const MappedCode& a, const MappedCode& b) {
  return std::tie(a.module, a.range.start) < std::tie(b.module, b.range.start);
}

// Merges neighbours. They must be sorted.
void AddUsed(const MappedCode& pages, std::vector<MappedCode>* used) {
  if (!used->empty()) {
    MappedCode& last = used->back();
    if (last.module == pages.module && pages.range.start.value >= last.range.start.value &&
        pages.range.start.value <= last.range.end.value + kMaxGap) {
      last.range.end = std::max(last.range.end, pages.range.end);
      return;
    }
  }
  used->push_back(pages);
}

template <typename Iterator>
Iterator EndOfModule(Iterator first, Iterator end) {
  return std::find_if(first, end,
                      [&](const MappedCode& each) { return each.module != first->module; });
}

std::vector<UsedCode> FindUsedCode(const Analysis& analysis, const PivotInput& input) {
  std::vector<UsedCode> used;
  for (const PivotBlock& block : input.blocks) {
    const ModuleAddress start = FindStart(block, analysis);
    used.push_back({block.module, {start, start + std::max(block.bytes, 1u)}});
  }
  return used;
}

std::vector<MappedCode> MergePages(const std::vector<UsedCode>& code) {
  std::vector<MappedCode> used;
  for (const UsedCode& each : code) AddUsed(Unmoved(each.module, each.range, 0), &used);
  std::sort(used.begin(), used.end(), &IsBefore);
  std::vector<MappedCode> merged;
  for (const MappedCode& each : used) AddUsed(each, &merged);
  return merged;
}

// Appends the code of a module, of which `used` are the parts with blocks. Returns whether the
// loader may map it anywhere.
bool MapModule(const Analysis& analysis, std::span<const MappedCode> used,
               std::vector<MappedCode>* mapped) {
  const uint32_t module = used.front().module;
  const ModuleKind kind = analysis.data().modules[module].kind;
  const ResolvedModules::Use resolved = analysis.modules().Open(module);
  if (resolved->code == nullptr || (kind != ModuleKind::kFile && kind != ModuleKind::kVdso)) {
    mapped->insert(mapped->end(), used.begin(), used.end());
    return false;
  }
  const auto segments = static_cast<const ElfImage&>(*resolved->code).LoadSegments();
  for (const Segment& segment : segments) {
    const MappedCode code = Unmoved(module, segment.range, segment.offset.value);
    const bool has_blocks = std::any_of(used.begin(), used.end(), [&](const MappedCode& part) {
      return part.range.start < code.range.end && code.range.start < part.range.end;
    });
    if (segment.executable && has_blocks) mapped->push_back(code);
  }
  return segments.empty() || segments.front().range.start.value < kPageBytes;
}

bool Overlaps(const MappedCode& code, uint64_t start, uint64_t end) {
  return code.start < end && start < code.end();
}

// Returns whether other code that does not move overlaps the module.
bool HasFixedOverlap(const std::vector<MappedCode>& mapped, const std::vector<bool>& moves,
                     uint32_t module) {
  return std::any_of(mapped.begin(), mapped.end(), [&](const MappedCode& code) {
    return code.module == module &&
           std::any_of(mapped.begin(), mapped.end(), [&](const MappedCode& other) {
             return !moves[other.module] && Overlaps(other, code.start, code.end());
           });
  });
}

// Moves files, each to where there is room for its addresses from 0 on.
void MoveFiles(const std::vector<bool>& moves, std::vector<MappedCode>* mapped) {
  std::vector<MappedCode> fixed;
  std::copy_if(mapped->begin(), mapped->end(), std::back_inserter(fixed),
               [&](const MappedCode& each) { return !moves[each.module]; });
  std::sort(fixed.begin(), fixed.end(),
            [](const MappedCode& a, const MappedCode& b) { return a.start < b.start; });
  uint64_t next = kFirstFile;
  for (auto first = mapped->begin(); first != mapped->end();) {
    const auto end = EndOfModule(first, mapped->end());
    if (moves[first->module]) {
      const uint64_t bytes = std::prev(end)->range.end.value;
      for (const MappedCode& other : fixed) {
        if (Overlaps(other, next, next + bytes)) next = FileUp(other.end());
      }
      for (auto each = first; each != end; ++each) each->start += next;
      next = FileUp(next + bytes);
    }
    first = end;
  }
}

}  // namespace

uint32_t ProgramOf(const ProfileData& data) {
  std::string_view rest = data.command;
  while (!rest.empty()) {
    const std::string_view word = rest.substr(0, rest.find(' '));
    rest.remove_prefix(std::min(word.size() + 1, rest.size()));
    for (uint32_t i = 0; i < data.modules.size(); ++i) {
      const ModuleRecord& module = data.modules[i];
      if (module.kind == ModuleKind::kFile && FileName(module.path) == FileName(word)) return i;
    }
  }
  return kNoIndex;
}

ModuleAddress FindStart(const PivotBlock& block, const Analysis& analysis) {
  const bool is_missing = block.block == kNoIndex;
  return is_missing ? analysis.functions()[block.function].range.start : block.start;
}

AddressLayout::AddressLayout(const Analysis& analysis, const PivotInput& input)
    : AddressLayout(analysis, FindUsedCode(analysis, input)) {}

AddressLayout::AddressLayout(const Analysis& analysis, const std::vector<UsedCode>& code) {
  const std::vector<MappedCode> used = MergePages(code);
  std::vector<bool> moves(analysis.data().modules.size());
  for (auto first = used.begin(); first != used.end();) {
    const auto end = EndOfModule(first, used.end());
    moves[first->module] = MapModule(analysis, {first, end}, &mapped_);
    first = end;
  }
  const uint32_t program = ProgramOf(analysis.data());
  if (program != kNoIndex && moves[program]) {
    moves[program] = HasFixedOverlap(mapped_, moves, program);
  }
  MoveFiles(moves, &mapped_);
}

size_t AddressLayout::Find(uint32_t module, ModuleAddress address) const {
  const MappedCode wanted{module, {address, address}};
  const auto after = std::upper_bound(mapped_.begin(), mapped_.end(), wanted, &IsBefore);
  if (after == mapped_.begin()) return mapped_.size();
  const auto found = std::prev(after);
  if (found->module != module || !found->range.Contains(address)) return mapped_.size();
  return static_cast<size_t>(found - mapped_.begin());
}

}  // namespace hbbp
