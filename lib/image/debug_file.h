// Separate debug files: where distributions put the symbol tables that they strip.
#ifndef HBBP_LIB_IMAGE_DEBUG_FILE_H_
#define HBBP_LIB_IMAGE_DEBUG_FILE_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "image/elf_file.h"

namespace hbbp {

// Opens the debug file of `file`: DEBUG_ROOT/.build-id/xx/yyyy.debug, or the name that
// .gnu_debuglink gives, beside `path`, in .debug/ there, and below `debug_root`. Only a file with
// the same build ID is taken, which makes the checksum of .gnu_debuglink needless. Null if there
// is none, or if `build_id` or `debug_root` is empty.
std::unique_ptr<ElfFile> OpenDebugFile(const ElfFile& file, std::span<const uint8_t> build_id,
                                       const std::string& path, const std::string& debug_root);

}  // namespace hbbp

#endif  // HBBP_LIB_IMAGE_DEBUG_FILE_H_
