#include "image/data_objects.h"

#include <elf.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace hbbp {
namespace {

// Objects inside of objects are rare, so that one of the nearest symbols is that of the object.
constexpr int kMaxSymbolsSeen = 256;

AddressRange MakeRange(uint64_t start, uint64_t size) {
  return {{start}, {start + std::min(size, UINT64_MAX - start)}};
}

}  // namespace

DataObjects::DataObjects(const ElfFile& file, SymbolTable symbols) : symbols_(std::move(symbols)) {
  AddSections(file);
  AddSegments(file);
  for (std::vector<Part>* parts : {&sections_, &segments_}) {
    std::ranges::sort(*parts, {}, [](const Part& part) { return part.range.start; });
  }
  AddObjects();
}

void DataObjects::AddSections(const ElfFile& file) {
  for (const ElfSection& section : file.sections()) {
    const Elf64_Shdr& header = section.header;
    // .tbss has addresses that the next section has as well.
    const bool has_memory = (header.sh_flags & SHF_ALLOC) != 0 && header.sh_size != 0 &&
                            !((header.sh_flags & SHF_TLS) != 0 && header.sh_type == SHT_NOBITS);
    if (!has_memory) continue;
    sections_.push_back(
        {MakeRange(header.sh_addr, header.sh_size), "[" + std::string(section.name) + "]"});
  }
}

void DataObjects::AddSegments(const ElfFile& file) {
  for (const Elf64_Phdr& header : file.segment_headers()) {
    if (header.p_type != PT_LOAD) continue;
    const bool is_writable = (header.p_flags & PF_W) != 0;
    segments_.push_back(
        {MakeRange(header.p_vaddr, header.p_memsz), is_writable ? "[data]" : "[read-only data]"});
  }
}

// An object whose size is unknown extends to the next one.
void DataObjects::AddObjects() {
  const std::vector<Symbol>& symbols = symbols_.symbols();
  ModuleAddress last_end{0};
  for (auto symbol = symbols.begin(); symbol != symbols.end(); ++symbol) {
    AddressRange range = MakeRange(symbol->address.value, symbol->size);
    if (symbol->size == 0 || symbol->size == UINT32_MAX) {
      const Part* const part = FindPart(symbol->address);
      if (part == nullptr) continue;
      const auto next = std::next(symbol);
      range.end =
          next == symbols.end() ? part->range.end : std::min(part->range.end, next->address);
    }
    last_end = std::max(last_end, range.end);
    objects_.push_back({range, last_end, &*symbol});
  }
}

const DataObjects::Part* DataObjects::FindPart(ModuleAddress address) const {
  for (const std::vector<Part>* parts : {&sections_, &segments_}) {
    const auto next = std::ranges::upper_bound(*parts, address, {},
                                               [](const Part& part) { return part.range.start; });
    if (next == parts->begin()) continue;
    const Part& part = *std::prev(next);
    if (part.range.Contains(address)) return &part;
  }
  return nullptr;
}

const DataObjects::Object* DataObjects::FindObject(const AddressRange& range) const {
  auto next = std::ranges::lower_bound(objects_, range.end, {},
                                       [](const Object& object) { return object.range.start; });
  const bool is_address = range.end - range.start <= 1;
  const Object* found = nullptr;
  for (int seen = 0; seen < kMaxSymbolsSeen && next != objects_.begin(); ++seen) {
    --next;
    if (next->last_end <= range.start) break;
    if (next->range.end <= range.start) continue;
    if (found != nullptr) return nullptr;
    found = &*next;
    if (is_address) break;
  }
  return found;
}

std::optional<DataObject> DataObjects::Find(const AddressRange& range) const {
  const Object* const object = FindObject(range);
  if (object != nullptr) {
    return DataObject{object->range, std::string(symbols_.NameOf(*object->symbol)), true};
  }
  const Part* const part = FindPart(range.start);
  if (part == nullptr) return std::nullopt;
  return DataObject{part->range, part->name, false};
}

}  // namespace hbbp
