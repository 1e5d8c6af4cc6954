// ElfImage composes what other files of this directory read: FileBytes the bytes, ElfFile headers
// and sections, Segments and CodeRegions the address ranges, EhFrame the unwind table, SymbolTable
// and PltSlots the names. Opening reads headers only; symbols and stubs are loaded by the first
// call that needs them. Callers are collect/, which converts offsets, and blocks/ and analysis/, by
// ModuleCode.
#include "image/elf_image.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "image/build_id.h"
#include "image/code_regions.h"
#include "image/data_objects.h"
#include "image/debug_file.h"
#include "image/eh_frame.h"
#include "image/elf_file.h"
#include "image/file_bytes.h"
#include "image/mini_debug_info.h"
#include "image/plt.h"
#include "image/relative_relocations.h"
#include "image/segments.h"
#include "image/symbol_table.h"

namespace hbbp {
namespace {

std::optional<ModuleAddress> EhFrameHeader(const ElfFile& file) {
  for (const Elf64_Phdr& segment : file.segment_headers()) {
    if (segment.p_type == PT_GNU_EH_FRAME) return ModuleAddress{segment.p_vaddr};
  }
  return std::nullopt;
}

std::optional<AddressRange> EhFrameSection(const ElfFile& file) {
  const ElfSection* section = file.FindSection(".eh_frame");
  if (section == nullptr) return std::nullopt;
  ModuleAddress start{section->header.sh_addr};
  return AddressRange{start, start + std::min(section->header.sh_size, UINT64_MAX - start.value)};
}

// Returns the end of a symbol that has a size.
ModuleAddress SymbolEnd(const Symbol& symbol, const AddressRange& limits) {
  return symbol.address + std::min<uint64_t>(symbol.size, limits.end - symbol.address);
}

AddressRange PltEntryAround(const CodeRegion& region, ModuleAddress address) {
  uint64_t offset = address - region.range.start;
  ModuleAddress start = region.range.start + (offset - offset % region.plt_entry_size);
  return {start, start + std::min(region.plt_entry_size, region.range.end - start)};
}

}  // namespace

// The first function that needs them loads symbols and stubs.
struct ElfImage::State {
  State(std::unique_ptr<ElfFile> elf_file, const std::string& image_name,
        const ElfImageOptions& image_options)
      : file(std::move(elf_file)),
        name(image_name),
        options(image_options),
        build_id(ReadBuildId(
            [this](uint64_t position, std::span<uint8_t> buffer) {
              std::span<const uint8_t> found = file->bytes().Span({position}, buffer.size());
              std::ranges::copy(found, buffer.begin());
              return found.size();
            },
            ImageLayout::kFile)),
        segments(&file->bytes(), file->segment_headers()),
        regions(*file, segments),
        eh_frame(&segments, EhFrameHeader(*file), EhFrameSection(*file)) {}

  const SymbolTable& Symbols() {
    if (symbols) return *symbols;
    Load(&symbols.emplace(&regions, &eh_frame));
    return *symbols;
  }

  const DataObjects& Data() {
    if (data) return *data;
    SymbolTable objects;
    Load(&objects);
    return data.emplace(*file, std::move(objects));
  }

  const PltSlots& Slots() {
    if (!plt_slots) plt_slots.emplace(*file);
    return *plt_slots;
  }

  void Load(SymbolTable* table);
  std::string PltName(const CodeRegion& region, ModuleAddress address);
  AddressRange FindFunction(const AddressRange& region, ModuleAddress address);

  const std::unique_ptr<ElfFile> file;
  const std::string name;
  const ElfImageOptions options;
  const std::vector<uint8_t> build_id;
  const Segments segments;
  const CodeRegions regions;
  const EhFrame eh_frame;
  std::unique_ptr<ElfFile> debug_file;
  std::optional<SymbolTable> symbols;
  std::optional<DataObjects> data;
  std::optional<PltSlots> plt_slots;
  std::optional<RelativeRelocations> relocations;
};

void ElfImage::State::Load(SymbolTable* table) {
  table->Add(*file);
  if (file->FindSectionOfType(SHT_SYMTAB) == nullptr) {
    if (debug_file == nullptr) {
      debug_file = OpenDebugFile(*file, build_id, name, options.debug_root);
    }
    if (debug_file == nullptr) debug_file = OpenMiniDebugInfo(*file, name);
    if (debug_file != nullptr) table->Add(*debug_file);
  }
  table->Finish();
}

std::string ElfImage::State::PltName(const CodeRegion& region, ModuleAddress address) {
  AddressRange entry = PltEntryAround(region, address);
  std::optional<ModuleAddress> slot =
      PltSlot(segments.CodeAt(entry.start, entry.end - entry.start), entry.start);
  if (!slot) return {};
  std::optional<PltSlots::Target> target = Slots().Find(*slot);
  if (!target) return {};
  std::string_view called = target->name;
  if (called.empty() && target->resolver.value != 0) {
    const std::vector<Symbol>& all = Symbols().symbols();
    auto resolver = std::ranges::lower_bound(all, target->resolver, {}, &Symbol::address);
    if (resolver != all.end() && resolver->address == target->resolver) {
      called = Symbols().NameOf(*resolver);
    }
  }
  if (called.empty()) return {};
  return std::string(called) + "@plt";
}

// Returns an FDE, split where a symbol starts inside it; between two FDEs, a symbol or the gap.
AddressRange ElfImage::State::FindFunction(const AddressRange& region, ModuleAddress address) {
  EhFrame::Neighbourhood unwind = eh_frame.Find(address);
  const std::vector<Symbol>& all = Symbols().symbols();
  auto next = std::ranges::upper_bound(all, address, {}, &Symbol::address);
  AddressRange range = unwind.around.value_or(AddressRange{unwind.previous_end, unwind.next_start});
  range.start = std::max(range.start, region.start);
  range.end = std::min(range.end, region.end);
  if (next != all.end()) range.end = std::min(range.end, next->address);
  if (next == all.begin()) return range;
  const Symbol& symbol = *std::prev(next);
  if (symbol.address < region.start) return range;
  ModuleAddress start = symbol.address;
  // Inside an FDE the size of a symbol does not matter: the code after the symbol belongs to it
  // too.
  if (!unwind.around && symbol.size != 0) {
    ModuleAddress end = SymbolEnd(symbol, region);
    if (end <= address) {
      start = end;
    } else {
      range.end = std::min(range.end, end);
    }
  }
  range.start = std::max(range.start, start);
  return range;
}

ElfImage::ElfImage(std::unique_ptr<State> state) : state_(std::move(state)) {}
ElfImage::~ElfImage() = default;

StatusOr<std::unique_ptr<ElfImage>> ElfImage::Open(const std::string& path,
                                                   const ElfImageOptions& options) {
  // O_NONBLOCK: opening a FIFO must not block.
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!fd.valid()) return ErrnoStatus(errno, path);
  return FromFd(std::move(fd), path, options);
}

StatusOr<std::unique_ptr<ElfImage>> ElfImage::FromFd(UniqueFd fd, const std::string& name,
                                                     const ElfImageOptions& options) {
  HBBP_ASSIGN_OR_RETURN(std::unique_ptr<FileBytes> bytes,
                        FileBytes::FromFdToKeep(std::move(fd), name));
  return FromBytes(std::move(bytes), name, options);
}

StatusOr<std::unique_ptr<ElfImage>> ElfImage::FromSharedFd(std::shared_ptr<const UniqueFd> fd,
                                                           const std::string& name,
                                                           const ElfImageOptions& options) {
  HBBP_ASSIGN_OR_RETURN(std::unique_ptr<FileBytes> bytes,
                        FileBytes::FromSharedFd(std::move(fd), name));
  return FromBytes(std::move(bytes), name, options);
}

StatusOr<std::unique_ptr<ElfImage>> ElfImage::FromMemory(std::vector<uint8_t> bytes,
                                                         const std::string& name,
                                                         const ElfImageOptions& options) {
  return FromBytes(FileBytes::FromMemory(std::move(bytes)), name, options);
}

StatusOr<std::unique_ptr<ElfImage>> ElfImage::FromBytes(std::unique_ptr<FileBytes> bytes,
                                                        const std::string& name,
                                                        const ElfImageOptions& options) {
  HBBP_ASSIGN_OR_RETURN(std::unique_ptr<ElfFile> file, ElfFile::Create(std::move(bytes), name));
  return std::unique_ptr<ElfImage>(
      new ElfImage(std::make_unique<State>(std::move(file), name, options)));
}

std::span<const uint8_t> ElfImage::build_id() const { return state_->build_id; }

int ElfImage::fd() const { return state_->file->bytes().fd(); }

std::optional<ModuleAddress> ElfImage::AddressOfOffset(FileOffset offset) const {
  return state_->segments.AddressOfOffset(offset);
}

std::optional<FileOffset> ElfImage::OffsetOfAddress(ModuleAddress address) const {
  return state_->segments.OffsetOfAddress(address);
}

std::optional<ModuleAddress> ElfImage::AddressOfSymbol(std::string_view name) const {
  (void)state_->Symbols();
  std::optional<ModuleAddress> address = FindSymbol(*state_->file, name);
  if (!address && state_->debug_file != nullptr) address = FindSymbol(*state_->debug_file, name);
  return address;
}

bool ElfImage::HasSymbols() const { return !state_->Symbols().symbols().empty(); }

bool ElfImage::HasCode() const {
  const std::vector<ElfSection>& sections = state_->file->sections();
  return sections.empty() || std::ranges::any_of(sections, &ElfSection::IsCode);
}

std::optional<ModuleAddress> ElfImage::CodeStart() const {
  const std::vector<CodeRegion>& regions = state_->regions.all();
  return regions.empty() ? std::nullopt : std::optional(regions.front().range.start);
}

std::span<const Segment> ElfImage::LoadSegments() const { return state_->segments.all(); }

std::vector<AddressRange> ElfImage::AllFunctions() const {
  std::vector<ModuleAddress> inside;
  for (const AddressRange& range : state_->eh_frame.All()) inside.push_back(range.start);
  for (const Symbol& symbol : state_->Symbols().symbols()) inside.push_back(symbol.address);
  for (const CodeRegion& region : state_->regions.all()) {
    if (region.plt_entry_size == 0) continue;
    for (ModuleAddress at = region.range.start; at < region.range.end;
         at = PltEntryAround(region, at).end) {
      inside.push_back(at);
    }
  }
  std::ranges::sort(inside);
  std::vector<AddressRange> functions;
  for (ModuleAddress address : inside) {
    std::optional<AddressRange> range = FunctionAround(address);
    if (range && (functions.empty() || functions.back().end <= range->start)) {
      functions.push_back(*range);
    }
  }
  return functions;
}

std::span<const uint8_t> ElfImage::CodeAt(ModuleAddress address, size_t size) const {
  return state_->segments.CodeAt(address, size);
}

std::span<const uint8_t> ElfImage::DataAt(ModuleAddress address, size_t size) const {
  return state_->segments.DataAt(address, size);
}

std::optional<AddressRange> ElfImage::FunctionAround(ModuleAddress address) const {
  const CodeRegion* region = state_->regions.Find(address);
  if (region == nullptr) return std::nullopt;
  if (region->plt_entry_size != 0) return PltEntryAround(*region, address);
  return state_->FindFunction(region->range, address);
}

std::string ElfImage::FunctionName(ModuleAddress address) const {
  const CodeRegion* region = state_->regions.Find(address);
  if (region == nullptr) return {};
  if (region->plt_entry_size != 0) return state_->PltName(*region, address);
  const SymbolTable& table = state_->Symbols();
  auto next = std::ranges::upper_bound(table.symbols(), address, {}, &Symbol::address);
  if (next == table.symbols().begin()) return {};
  const Symbol& symbol = *std::prev(next);
  if (symbol.address < region->range.start) return {};
  if (SymbolEnd(symbol, region->range) <= address &&
      state_->FindFunction(region->range, address).start != symbol.address) {
    return {};
  }
  return std::string(table.NameOf(symbol));
}

std::optional<DataObject> ElfImage::DataAround(const AddressRange& range) const {
  return state_->Data().Find(range);
}

std::optional<ModuleAddress> ElfImage::PointerAt(ModuleAddress slot) const {
  if (!state_->relocations) state_->relocations.emplace(*state_->file);
  return state_->relocations->Find(slot);
}

std::string ElfImage::ImportAt(ModuleAddress slot) const {
  const std::optional<PltSlots::Target> target = state_->Slots().Find(slot);
  return target ? std::string(target->name) : std::string();
}

bool ElfImage::HasDistantHandlers(const AddressRange& part) const {
  return state_->eh_frame.HasDistantHandlers(part);
}

}  // namespace hbbp
