#include "image/relative_relocations.h"

#include <algorithm>

#include "base/byte_cursor.h"

namespace hbbp {

RelativeRelocations::RelativeRelocations(const ElfFile& file) {
  const ElfSection* section = file.FindSection(".rela.dyn");
  if (section == nullptr) return;
  ByteCursor cursor(file.SectionBytes(*section));
  Elf64_Rela relocation;
  while (cursor.Read(&relocation)) {
    if (ELF64_R_TYPE(relocation.r_info) != R_X86_64_RELATIVE) continue;
    relocations_.push_back({{relocation.r_offset}, {static_cast<uint64_t>(relocation.r_addend)}});
  }
  std::ranges::sort(relocations_, {}, &Relocation::address);
}

std::optional<ModuleAddress> RelativeRelocations::Find(ModuleAddress address) const {
  const auto found = std::ranges::lower_bound(relocations_, address, {}, &Relocation::address);
  if (found == relocations_.end() || found->address != address) return std::nullopt;
  return found->target;
}

}  // namespace hbbp
