#include "image/plt.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/byte_cursor.h"

namespace hbbp {
namespace {

constexpr std::array<uint8_t, 4> kEndbr64 = {0xf3, 0x0f, 0x1e, 0xfa};
constexpr std::array<uint8_t, 2> kMovR11d = {0x41, 0xbb};  // and a 32-bit immediate
constexpr std::array<uint8_t, 1> kBnd = {0xf2};
constexpr std::array<uint8_t, 2> kJmpThroughRip = {0xff, 0x25};  // and a 32-bit displacement

bool StartsWith(std::span<const uint8_t> code, std::span<const uint8_t> prefix) {
  return code.size() >= prefix.size() && std::equal(prefix.begin(), prefix.end(), code.begin());
}

// Skips `prefix` and `operand_size` bytes after it, if `code` has `prefix` at the position.
void SkipOptional(std::span<const uint8_t> code, std::span<const uint8_t> prefix,
                  size_t operand_size, size_t* position) {
  if (StartsWith(code.subspan(*position), prefix) &&
      code.size() - *position >= prefix.size() + operand_size) {
    *position += prefix.size() + operand_size;
  }
}

}  // namespace

uint64_t PltEntrySize(const ElfSection& section) {
  bool through_got = section.name == ".plt.got";
  if (!through_got && section.name != ".plt" && section.name != ".plt.sec" &&
      section.name != ".plt.bnd" && section.name != ".iplt") {
    return 0;
  }
  if (section.header.sh_entsize == 8 || section.header.sh_entsize == 16) {
    return section.header.sh_entsize;
  }
  // The linker does not say the size, so it is the one of the ABI.
  return through_got ? 8 : 16;
}

std::optional<ModuleAddress> PltSlot(std::span<const uint8_t> code, ModuleAddress address) {
  size_t position = 0;
  SkipOptional(code, kEndbr64, 0, &position);
  SkipOptional(code, kMovR11d, 4, &position);
  SkipOptional(code, kBnd, 0, &position);
  if (!StartsWith(code.subspan(position), kJmpThroughRip)) return std::nullopt;
  ByteCursor cursor(code);
  int32_t displacement;
  if (!cursor.Skip(position + kJmpThroughRip.size()) || !cursor.Read(&displacement)) {
    return std::nullopt;
  }
  return address + cursor.position() + static_cast<uint64_t>(int64_t{displacement});
}

PltSlots::PltSlots(const ElfFile& file) {
  Load(file, ".rela.plt");
  Load(file, ".rela.dyn");
  std::ranges::sort(slots_, {}, &Slot::address);
}

void PltSlots::Load(const ElfFile& file, std::string_view relocation_section) {
  const ElfSection* section = file.FindSection(relocation_section);
  if (section == nullptr) return;
  std::span<const uint8_t> symbols = file.LinkedSectionBytes(*section);
  std::span<const uint8_t> names;
  if (section->header.sh_link < file.sections().size()) {
    names = file.LinkedSectionBytes(file.sections()[section->header.sh_link]);
  }
  ByteCursor relocations(file.SectionBytes(*section));
  Elf64_Rela relocation;
  while (relocations.Read(&relocation)) {
    Slot slot = {.address = {relocation.r_offset}, .target = {}};
    switch (ELF64_R_TYPE(relocation.r_info)) {
      case R_X86_64_JUMP_SLOT:
      case R_X86_64_GLOB_DAT: {
        ByteCursor cursor(symbols);
        Elf64_Sym symbol;
        if (!cursor.Skip(ELF64_R_SYM(relocation.r_info) * sizeof(symbol)) ||
            !cursor.Read(&symbol)) {
          continue;
        }
        slot.target.name = StringAt(names, symbol.st_name);
        break;
      }
      case R_X86_64_IRELATIVE:
        slot.target.resolver = {static_cast<uint64_t>(relocation.r_addend)};
        break;
      default:
        continue;
    }
    slots_.push_back(slot);
  }
}

std::optional<PltSlots::Target> PltSlots::Find(ModuleAddress slot) const {
  auto found = std::ranges::lower_bound(slots_, slot, {}, &Slot::address);
  if (found == slots_.end() || found->address != slot) return std::nullopt;
  return found->target;
}

}  // namespace hbbp
