#include "preload/bound_functions.h"

#include <dlfcn.h>
#include <link.h>
#include <string.h>

#include <cstddef>
#include <cstdint>

namespace hbbp::preload {
namespace {

struct Range {
  uint64_t begin = 0, end = 0;
  bool Contains(uint64_t address) const { return address >= begin && address < end; }
};

// The code that our calls may lead to.
struct OwnLibraries {
  Range c_library, this_library, decoder;
};

bool IsNamed(const char* path, const char* name) {
  const char* const slash = ::strrchr(path, '/');
  const char* const file = slash == nullptr ? path : slash + 1;
  return ::strncmp(file, name, ::strlen(name)) == 0;
}

int AddLibrary(dl_phdr_info* info, size_t, void* result) {
  auto* const libraries = static_cast<OwnLibraries*>(result);
  Range range;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = info->dlpi_phdr[i];
    if (header.p_type != PT_LOAD || (header.p_flags & PF_X) == 0) continue;
    range.begin = info->dlpi_addr + header.p_vaddr;
    range.end = range.begin + header.p_memsz;
  }
  if (range.Contains(reinterpret_cast<uint64_t>(&AddLibrary))) libraries->this_library = range;
  if (IsNamed(info->dlpi_name, "libc.so.6")) libraries->c_library = range;
  if (IsNamed(info->dlpi_name, "libZydis.so")) libraries->decoder = range;
  return 0;
}

}  // namespace

bool CallsOnlyCLibrary() {
  OwnLibraries libraries;
  ::dl_iterate_phdr(&AddLibrary, &libraries);
  link_map* own = nullptr;
  Dl_info info;
  if (::dladdr1(reinterpret_cast<const void*>(&AddLibrary), &info, reinterpret_cast<void**>(&own),
                RTLD_DL_LINKMAP) == 0) {
    return false;
  }
  const ElfW(Sym)* symbols = nullptr;
  const ElfW(Rela) * relocations[2] = {};
  size_t bytes[2] = {};
  for (const ElfW(Dyn)* entry = own->l_ld; entry->d_tag != DT_NULL; ++entry) {
    const auto address = reinterpret_cast<const void*>(entry->d_un.d_ptr);
    if (entry->d_tag == DT_SYMTAB) symbols = static_cast<const ElfW(Sym)*>(address);
    if (entry->d_tag == DT_JMPREL) relocations[0] = static_cast<const ElfW(Rela)*>(address);
    if (entry->d_tag == DT_RELA) relocations[1] = static_cast<const ElfW(Rela)*>(address);
    if (entry->d_tag == DT_PLTRELSZ) bytes[0] = entry->d_un.d_val;
    if (entry->d_tag == DT_RELASZ) bytes[1] = entry->d_un.d_val;
  }
  if (symbols == nullptr) return false;
  for (int table = 0; table < 2; ++table) {
    if (relocations[table] == nullptr) continue;
    for (size_t i = 0; i < bytes[table] / sizeof(ElfW(Rela)); ++i) {
      const ElfW(Rela)& relocation = relocations[table][i];
      const ElfW(Sym)& symbol = symbols[ELF64_R_SYM(relocation.r_info)];
      if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC) continue;
      const uint64_t target = *reinterpret_cast<const uint64_t*>(own->l_addr + relocation.r_offset);
      if (target != 0 && !libraries.c_library.Contains(target) &&
          !libraries.this_library.Contains(target) && !libraries.decoder.Contains(target)) {
        return false;
      }
    }
  }
  return true;
}

}  // namespace hbbp::preload
