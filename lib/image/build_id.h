// Reads the build ID of an ELF image, from a file or from memory, without libelf.
//
// Every reader returns the raw bytes of NT_GNU_BUILD_ID, or none if the image has no build ID, is
// not an x86-64 ELF image, or cannot be read.
#ifndef HBBP_LIB_IMAGE_BUILD_ID_H_
#define HBBP_LIB_IMAGE_BUILD_ID_H_

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/address.h"
#include "image/program_headers.h"

namespace hbbp {

// The positions of the bytes of an image, counted from its ELF header, are those of the file
// (p_offset) or those of the loaded image (p_vaddr).
enum class ImageLayout { kFile, kMemory };

std::vector<uint8_t> ReadBuildId(const ImageReader& reader, ImageLayout layout);

// Neither uses nor moves the file position of `fd`.
std::vector<uint8_t> ReadBuildIdOfFd(int fd);

// Takes notes in the format of ELF files and of /sys/kernel/notes.
std::vector<uint8_t> ReadBuildIdInNotes(std::span<const uint8_t> notes);

// Returns whether the IDs are equal, or one is the other followed by zeros: perf before Linux 5.11
// pads build IDs of 8 and 16 bytes (lld --build-id=fast, md5 and uuid) to the 20 of a SHA-1.
bool SameBuildId(std::span<const uint8_t> a, std::span<const uint8_t> b);

// Removes the padding of an ID of 20 bytes whose last zeros show that a linker made it of 8 or 16
// bytes.
std::span<const uint8_t> WithoutPadding(std::span<const uint8_t> build_id);

// Returns `build_id` in hexadecimal, as readelf prints it, or "none" if it is empty.
std::string BuildIdText(std::span<const uint8_t> build_id);

// `header` is the start of the mapping of file offset 0. A `pid` of 0 is the calling process.
std::vector<uint8_t> ReadBuildIdInMemory(pid_t pid, RuntimeAddress header);

}  // namespace hbbp

#endif  // HBBP_LIB_IMAGE_BUILD_ID_H_
