#include "image/symbol_table.h"

#include <algorithm>
#include <tuple>

#include "base/byte_cursor.h"
#include "image/symbol_choice.h"

namespace hbbp {
namespace {

constexpr size_t kMaxStringTables = 256;  // fits into Symbol::string_table
constexpr uint16_t kVersionHidden = 0x8000;

bool IsFunction(unsigned type) { return type == STT_FUNC || type == STT_GNU_IFUNC; }

uint8_t RankOfBinding(unsigned binding) {
  switch (binding) {
    case STB_GLOBAL:
    case STB_GNU_UNIQUE:
      return 2;
    case STB_WEAK:
      return 1;
    default:
      return 0;
  }
}

}  // namespace

std::optional<ModuleAddress> FindSymbol(const ElfFile& file, std::string_view name) {
  for (uint32_t type : {SHT_SYMTAB, SHT_DYNSYM}) {
    const ElfSection* section = file.FindSectionOfType(type);
    if (section == nullptr) continue;
    std::span<const uint8_t> names = file.LinkedSectionBytes(*section);
    ByteCursor cursor(file.SectionBytes(*section));
    Elf64_Sym entry;
    while (cursor.Read(&entry)) {
      if (entry.st_shndx != SHN_UNDEF && StringAt(names, entry.st_name) == name) {
        return ModuleAddress{entry.st_value};
      }
    }
  }
  return std::nullopt;
}

void SymbolTable::Add(const ElfFile& file) {
  for (uint32_t type : {SHT_SYMTAB, SHT_DYNSYM}) {
    const ElfSection* section = file.FindSectionOfType(type);
    if (section != nullptr) AddSection(file, *section);
  }
}

bool SymbolTable::IsWanted(unsigned type, ModuleAddress address) const {
  if (regions_ == nullptr) return type == STT_OBJECT || type == STT_COMMON;
  return (IsFunction(type) || type == STT_NOTYPE) && regions_->Find(address) != nullptr;
}

void SymbolTable::AddSection(const ElfFile& file, const ElfSection& section) {
  std::span<const uint8_t> table = file.SectionBytes(section);
  std::span<const uint8_t> names = file.LinkedSectionBytes(section);
  if (table.empty() || names.empty() || string_tables_.size() == kMaxStringTables) return;
  auto string_table = static_cast<uint8_t>(string_tables_.size());
  string_tables_.push_back(names);
  const ElfSection* version_section =
      section.header.sh_type == SHT_DYNSYM ? file.FindSectionOfType(SHT_GNU_versym) : nullptr;
  ByteCursor versions(version_section == nullptr ? std::span<const uint8_t>()
                                                 : file.SectionBytes(*version_section));
  ByteCursor cursor(table);
  Elf64_Sym entry;
  while (cursor.Read(&entry)) {
    uint16_t version = 0;
    (void)versions.Read(&version);
    unsigned type = ELF64_ST_TYPE(entry.st_info);
    if (entry.st_shndx == SHN_UNDEF || entry.st_shndx == SHN_ABS || entry.st_name >= names.size() ||
        names[entry.st_name] == 0 || !IsWanted(type, {entry.st_value})) {
      continue;
    }
    symbols_.push_back(
        {.address = {entry.st_value},
         .size = static_cast<uint32_t>(std::min<uint64_t>(entry.st_size, UINT32_MAX)),
         .name_offset = entry.st_name,
         .string_table = string_table,
         .binding_rank = RankOfBinding(ELF64_ST_BIND(entry.st_info)),
         .is_function = IsFunction(type),
         .is_old_version = (version & kVersionHidden) != 0});
  }
}

void SymbolTable::Finish() {
  std::ranges::sort(symbols_, {}, &Symbol::address);
  KeepBestOfEachAddress();
  if (regions_ != nullptr) DropLabelsInsideFunctions();
  symbols_.shrink_to_fit();
}

bool SymbolTable::IsBetter(const Symbol& a, const Symbol& b) const {
  auto rank = [this](const Symbol& symbol) {
    return std::tuple(symbol.is_function, symbol.size != 0, !IsOldVersion(symbol),
                      symbol.binding_rank);
  };
  auto rank_of_a = rank(a);
  auto rank_of_b = rank(b);
  if (rank_of_a != rank_of_b) return rank_of_a > rank_of_b;
  return IsBetterName(NameOf(a), NameOf(b));
}

// .dynsym marks an old version in .gnu.version, .symtab by one '@' in the name instead of two.
bool SymbolTable::IsOldVersion(const Symbol& symbol) const {
  if (symbol.is_old_version) return true;
  std::string_view name = VersionedNameOf(symbol);
  size_t at = name.find('@', 1);
  return at != std::string_view::npos && name.substr(at, 2) != "@@";
}

void SymbolTable::KeepBestOfEachAddress() {
  auto kept = symbols_.begin();
  for (auto next = symbols_.begin(); next != symbols_.end(); ++next) {
    if (next == symbols_.begin()) continue;
    if (next->address != kept->address) {
      *++kept = *next;
    } else if (IsBetter(*next, *kept)) {
      *kept = *next;
    }
  }
  if (!symbols_.empty()) symbols_.erase(std::next(kept), symbols_.end());
}

void SymbolTable::DropLabelsInsideFunctions() {
  ModuleAddress covered{0};
  std::optional<Symbol> last;  // that is kept
  std::erase_if(symbols_, [&](const Symbol& symbol) {
    if (symbol.is_function) {
      covered = std::max(covered, EndOf(symbol));
    } else if (symbol.address < covered || (last && IsLocalLabel(*last, symbol))) {
      return true;
    }
    last = symbol;
    return false;
  });
}

bool SymbolTable::IsLocalLabel(const Symbol& function, const Symbol& label) const {
  if (label.binding_rank != 0) return false;
  const std::string_view whole = NameOf(function), name = NameOf(label);
  return name.starts_with(whole) && name.substr(whole.size()).starts_with('.');
}

ModuleAddress SymbolTable::EndOf(const Symbol& function) const {
  if (function.size != 0) return function.address + function.size;
  const std::optional<AddressRange> fde = eh_frame_->Find(function.address).around;
  return fde && fde->start == function.address ? fde->end : function.address;
}

std::string_view SymbolTable::VersionedNameOf(const Symbol& symbol) const {
  return StringAt(string_tables_[symbol.string_table], symbol.name_offset);
}

std::string_view SymbolTable::NameOf(const Symbol& symbol) const {
  std::string_view name = VersionedNameOf(symbol);
  return name.substr(0, name.find('@', 1));
}

}  // namespace hbbp
