// Reads MiniDebugInfo: section .gnu_debugdata of a stripped file, which has the symbols of its
// functions, as an ELF file packed by xz. Fedora and its relatives ship programs with it.
#ifndef HBBP_LIB_IMAGE_MINI_DEBUG_INFO_H_
#define HBBP_LIB_IMAGE_MINI_DEBUG_INFO_H_

#include <memory>
#include <string>

#include "image/elf_file.h"

namespace hbbp {

// Returns null if there is none, it is damaged or would fill more than 256 MiB, or liblzma cannot
// be loaded.
std::unique_ptr<ElfFile> OpenMiniDebugInfo(const ElfFile& file, const std::string& name);

}  // namespace hbbp

#endif  // HBBP_LIB_IMAGE_MINI_DEBUG_INFO_H_
