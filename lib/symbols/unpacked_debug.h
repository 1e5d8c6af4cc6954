// Unpacks large compressed debug sections, and those that zstd has compressed, into a file without
// a name.
//
// libdw keeps every compressed section in memory as a whole, and unpacks all of them again whenever
// it opens the file. An uncompressed file it maps, and reads only what it needs. Before elfutils
// 0.189 it does not know zstd.
#ifndef HBBP_LIB_SYMBOLS_UNPACKED_DEBUG_H_
#define HBBP_LIB_SYMBOLS_UNPACKED_DEBUG_H_

#include <cstdint>
#include <functional>
#include <string>

#include "base/status.h"
#include "base/unique_fd.h"
#include "image/elf_file.h"

namespace hbbp {

// Returns whether .debug_info is compressed and so large that unpacking it to a file pays off, or
// compressed by zstd.
bool IsWorthUnpacking(const ElfFile& file);

// Returns an ELF file with those sections of `fd` that lines need, uncompressed, in TMPDIR,
// /var/tmp or /tmp. Calls `progress` with the bytes done and the total; it may throw. Returns
// kUnsupported (no zlib or libzstd, another compression), kBadFormat (damaged) or kIo (no room).
StatusOr<UniqueFd> UnpackDebugSections(
    int fd, const std::string& path,
    const std::function<void(uint64_t done, uint64_t total)>& progress);

}  // namespace hbbp

#endif  // HBBP_LIB_SYMBOLS_UNPACKED_DEBUG_H_
