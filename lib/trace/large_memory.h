// Zeroed memory for tables that a burst touches here and there, which huge pages make cheaper,
// since each burst misses the address translation of every small page again.
//
// Contract: not async-signal-safe.
#ifndef HBBP_LIB_TRACE_LARGE_MEMORY_H_
#define HBBP_LIB_TRACE_LARGE_MEMORY_H_

#include <cstddef>

namespace hbbp::trace {

// Aligned to a huge page. Takes memory as it is used. nullptr: there is no address space.
void* MapLargeMemory(size_t bytes);
void UnmapLargeMemory(void* memory, size_t bytes);

// Has the system put the first `bytes` into huge pages, if it has them. They take a millisecond or
// so to make, which a process that soon ends should not pay. Others may use the memory meanwhile.
void UseHugePages(void* memory, size_t bytes);

}  // namespace hbbp::trace

#endif  // HBBP_LIB_TRACE_LARGE_MEMORY_H_
