// Finds separate debug files, which have the symbol tables and DWARF that distributions strip.
#ifndef HBBP_LIB_IMAGE_DEBUG_FILE_H_
#define HBBP_LIB_IMAGE_DEBUG_FILE_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "image/elf_file.h"

namespace hbbp {

// Returns DEBUG_ROOT/.build-id/xx/yyyy.debug, or nothing if `build_id` is too short for a name.
std::string BuildIdFile(std::span<const uint8_t> build_id, const std::string& debug_root);

// Returns the paths at which the debug file of `file` may be: BuildIdFile, and the name that
// .gnu_debuglink gives, next to `path`, in .debug/ there, and below `debug_root`. `file` may be
// null.
std::vector<std::string> DebugFileCandidates(const ElfFile* file, std::span<const uint8_t> build_id,
                                             const std::string& path,
                                             const std::string& debug_root);

// Opens the debug file of `file`, for its symbols. Accepts only a file with the same build ID, so
// the checksum of .gnu_debuglink is not needed. Returns null if there is none, or if `build_id` or
// `debug_root` is empty.
std::unique_ptr<ElfFile> OpenDebugFile(const ElfFile& file, std::span<const uint8_t> build_id,
                                       const std::string& path, const std::string& debug_root);

}  // namespace hbbp

#endif  // HBBP_LIB_IMAGE_DEBUG_FILE_H_
