// Names the stubs of procedure linkage tables.
#ifndef HBBP_LIB_IMAGE_PLT_H_
#define HBBP_LIB_IMAGE_PLT_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/address.h"
#include "image/elf_file.h"

namespace hbbp {

// Returns the size of one stub in `section`, or 0 if it is not a procedure linkage table.
uint64_t PltEntrySize(const ElfSection& section);

// Returns the address of the pointer that the stub `code` at `address` jumps through, or nothing if
// the kind of stub is unknown.
std::optional<ModuleAddress> PltSlot(std::span<const uint8_t> code, ModuleAddress address);

// PltSlots knows what the dynamic linker stores in the pointers that stubs jump through.
class PltSlots {
 public:
  struct Target {
    std::string_view name;   // of the symbol, empty if there is none
    ModuleAddress resolver;  // of an indirect function that has no symbol; 0 if it has
  };

  // `file` must outlive this object.
  explicit PltSlots(const ElfFile& file);

  std::optional<Target> Find(ModuleAddress slot) const;

 private:
  struct Slot {
    ModuleAddress address;
    Target target;
  };
  void Load(const ElfFile& file, std::string_view relocation_section);

  std::vector<Slot> slots_;  // by address
};

}  // namespace hbbp

#endif  // HBBP_LIB_IMAGE_PLT_H_
