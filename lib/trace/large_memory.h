// Zeroed memory for tables that a burst touches here and there: in huge pages where the system
// has them, since each burst would miss the address translation of every small page again.
//
// Contract: not async-signal-safe.
#ifndef HBBP_LIB_TRACE_LARGE_MEMORY_H_
#define HBBP_LIB_TRACE_LARGE_MEMORY_H_

#include <cstddef>

namespace hbbp::trace {

// Aligned to a huge page. Takes memory as it is used. nullptr: there is no address space.
void* MapLargeMemory(size_t bytes);
void UnmapLargeMemory(void* memory, size_t bytes);

}  // namespace hbbp::trace

#endif  // HBBP_LIB_TRACE_LARGE_MEMORY_H_
