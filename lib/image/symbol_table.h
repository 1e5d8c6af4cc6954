// SymbolTable has the symbols of functions of a module, or of data objects, one for each address.
//
// Of several symbols at one address it keeps the best: a function over a plain label, a sized
// symbol over one without size, a current version over one that only old programs are linked to
// (cfree@GLIBC_2.2.5), global over weak over local, and then by IsBetterName. It drops a plain
// label inside a function that has a size, or an FDE from its start on, but keeps a function inside
// one. It also drops a local label "f.loop" behind f, which NASM calls so for being a part of f.
// Other labels count as functions: nothing distinguishes loops from local functions.
#ifndef HBBP_LIB_IMAGE_SYMBOL_TABLE_H_
#define HBBP_LIB_IMAGE_SYMBOL_TABLE_H_

#include <elf.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/address.h"
#include "image/code_regions.h"
#include "image/eh_frame.h"
#include "image/elf_file.h"

namespace hbbp {

struct Symbol {
  ModuleAddress address;
  uint32_t size = 0;         // 0: unknown, as in hand-written assembly
  uint32_t name_offset = 0;  // in a string table
  uint8_t string_table = 0;
  uint8_t binding_rank = 0;  // a higher one is a better choice
  bool is_function = false;
  bool is_old_version = false;
};

// Returns the address of the first defined symbol of that name, of any kind.
std::optional<ModuleAddress> FindSymbol(const ElfFile& file, std::string_view name);

class SymbolTable {
 public:
  // Of data objects. Those of thread-local storage are not among them: their addresses are offsets.
  SymbolTable() : regions_(nullptr), eh_frame_(nullptr) {}
  // Of functions.
  SymbolTable(const CodeRegions* regions, const EhFrame* eh_frame)
      : regions_(regions), eh_frame_(eh_frame) {}

  // Adds the symbols of .symtab and .dynsym. `file` must outlive this object.
  void Add(const ElfFile& file);
  // Sorts the symbols. Call it once, before any function below.
  void Finish();

  // Returns the symbols by address.
  const std::vector<Symbol>& symbols() const { return symbols_; }
  // Returns the name without the version that the linker appends ("@@GLIBC_2.34").
  std::string_view NameOf(const Symbol& symbol) const;

 private:
  bool IsWanted(unsigned type, ModuleAddress address) const;
  void AddSection(const ElfFile& file, const ElfSection& section);
  bool IsOldVersion(const Symbol& symbol) const;
  std::string_view VersionedNameOf(const Symbol& symbol) const;
  bool IsBetter(const Symbol& a, const Symbol& b) const;
  void KeepBestOfEachAddress();
  void DropLabelsInsideFunctions();
  bool IsLocalLabel(const Symbol& function, const Symbol& label) const;
  ModuleAddress EndOf(const Symbol& function) const;

  const CodeRegions* regions_;
  const EhFrame* eh_frame_;
  std::vector<std::span<const uint8_t>> string_tables_;
  std::vector<Symbol> symbols_;
};

}  // namespace hbbp

#endif  // HBBP_LIB_IMAGE_SYMBOL_TABLE_H_
