// The build ID of an ELF image, from a file or from memory, without libelf.
//
// Everything here returns the raw bytes of NT_GNU_BUILD_ID, and none if the image has no build
// ID, is no x86-64 ELF image, or cannot be read.
#ifndef HBBP_LIB_IMAGE_BUILD_ID_H_
#define HBBP_LIB_IMAGE_BUILD_ID_H_

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/address.h"

namespace hbbp {

// Where the bytes of an image lie, counted from its ELF header: as the file has them (p_offset),
// or as the loader puts them (p_vaddr).
enum class ImageLayout { kFile, kMemory };

// Fills `buffer` from `position` on; returns how much, less than asked for at the end.
using ImageReader = std::function<size_t(uint64_t position, std::span<uint8_t> buffer)>;

std::vector<uint8_t> ReadBuildId(const ImageReader& reader, ImageLayout layout);

// The file position of `fd` is neither used nor moved.
std::vector<uint8_t> ReadBuildIdOfFd(int fd);

// Of notes as an ELF file or /sys/kernel/notes has them.
std::vector<uint8_t> ReadBuildIdInNotes(std::span<const uint8_t> notes);

// Equal, or one is the other with zeros behind it: perf before Linux 5.11 pads build IDs of 8 and
// 16 bytes (lld --build-id=fast, md5 and uuid) to the 20 of a SHA-1.
bool SameBuildId(std::span<const uint8_t> a, std::span<const uint8_t> b);

// A build ID of 20 bytes that a linker makes of 8 or 16 bytes, as far as its zeros show.
std::span<const uint8_t> WithoutPadding(std::span<const uint8_t> build_id);

// In hexadecimal, as readelf prints it; "none" if there is none.
std::string BuildIdText(std::span<const uint8_t> build_id);

// `header` is the start of the mapping of file offset 0. `pid` 0: the calling process.
std::vector<uint8_t> ReadBuildIdInMemory(pid_t pid, RuntimeAddress header);

}  // namespace hbbp

#endif  // HBBP_LIB_IMAGE_BUILD_ID_H_
