// Reading the memory of a process, one's own included, where it may not be mapped.
#ifndef HBBP_LIB_IMAGE_PROCESS_MEMORY_H_
#define HBBP_LIB_IMAGE_PROCESS_MEMORY_H_

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/address.h"

namespace hbbp {

// Copies from `address` on into `buffer`, up to the first page that cannot be read. Returns the
// number of bytes copied: 0 if there is no such process or no permission. `pid` 0: the calling
// process. Never faults. Allocates nothing, takes no lock.
size_t ReadProcessMemory(pid_t pid, RuntimeAddress address, std::span<uint8_t> buffer);

}  // namespace hbbp

#endif  // HBBP_LIB_IMAGE_PROCESS_MEMORY_H_
