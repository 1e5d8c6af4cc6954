// Reads the memory of a process, including the caller's own, where it may not be mapped.
#ifndef HBBP_LIB_IMAGE_PROCESS_MEMORY_H_
#define HBBP_LIB_IMAGE_PROCESS_MEMORY_H_

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/address.h"

namespace hbbp {

// Copies from `address` on into `buffer`, up to the first page that cannot be read. Returns the
// number of bytes copied, which is 0 without such a process or without permission. A `pid` of 0 is
// the calling process. Never faults, allocates nothing, and takes no lock.
size_t ReadProcessMemory(pid_t pid, RuntimeAddress address, std::span<uint8_t> buffer);

}  // namespace hbbp

#endif  // HBBP_LIB_IMAGE_PROCESS_MEMORY_H_
