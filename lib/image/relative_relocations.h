// RelativeRelocations knows which pointers the loader sets to addresses of the module itself. Not
// every linker stores those addresses in the pointers too.
#ifndef HBBP_LIB_IMAGE_RELATIVE_RELOCATIONS_H_
#define HBBP_LIB_IMAGE_RELATIVE_RELOCATIONS_H_

#include <optional>
#include <vector>

#include "base/address.h"
#include "image/elf_file.h"

namespace hbbp {

class RelativeRelocations {
 public:
  explicit RelativeRelocations(const ElfFile& file);

  // Returns what the pointer at `address` points to.
  std::optional<ModuleAddress> Find(ModuleAddress address) const;

 private:
  struct Relocation {
    ModuleAddress address;
    ModuleAddress target;
  };

  std::vector<Relocation> relocations_;  // by address
};

}  // namespace hbbp

#endif  // HBBP_LIB_IMAGE_RELATIVE_RELOCATIONS_H_
