// Reads the program headers of an ELF image, from a file or from memory, without libelf.
#ifndef HBBP_LIB_IMAGE_PROGRAM_HEADERS_H_
#define HBBP_LIB_IMAGE_PROGRAM_HEADERS_H_

#include <elf.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace hbbp {

// Fills `buffer` from `position` on and returns the number of bytes; it is less than asked for only
// at the end.
using ImageReader = std::function<size_t(uint64_t position, std::span<uint8_t> buffer)>;

// Returns none if it is not an x86-64 ELF image, or cannot be read.
std::vector<Elf64_Phdr> ReadProgramHeaders(const ImageReader& reader);

// Returns a reader that neither uses nor moves the file position of `fd`.
ImageReader ReaderOfFd(int fd);

}  // namespace hbbp

#endif  // HBBP_LIB_IMAGE_PROGRAM_HEADERS_H_
