// Large compressed debug sections, unpacked into a file without a name.
//
// libdw keeps every section that is compressed in memory as a whole, and unpacks all of them anew
// whenever it opens the file. Of a file it maps what it reads.
#ifndef HBBP_LIB_SYMBOLS_UNPACKED_DEBUG_H_
#define HBBP_LIB_SYMBOLS_UNPACKED_DEBUG_H_

#include <cstdint>
#include <functional>
#include <string>

#include "base/status.h"
#include "base/unique_fd.h"
#include "image/elf_file.h"

namespace hbbp {

// Is .debug_info compressed, and is so much in it that it is better unpacked?
bool IsWorthUnpacking(const ElfFile& file);

// An ELF file with those sections of the file `fd` that source lines need, none of them compressed,
// in TMPDIR, /var/tmp or /tmp. `progress` is told bytes of all, and may throw. Errors: kUnsupported
// (no zlib, another compression), kBadFormat (damaged), kIo (no room).
StatusOr<UniqueFd> UnpackDebugSections(
    int fd, const std::string& path,
    const std::function<void(uint64_t done, uint64_t total)>& progress);

}  // namespace hbbp

#endif  // HBBP_LIB_SYMBOLS_UNPACKED_DEBUG_H_
