// Memory of the profiler, which a program that locks its memory need not lock.
#ifndef HBBP_TOOLS_PRELOAD_LOCK_MEMORY_H_
#define HBBP_TOOLS_PRELOAD_LOCK_MEMORY_H_

#include <cstdint>

namespace hbbp::preload {

// Returns whether an unnamed mapping is ours; nullptr: we have none.
extern bool (*is_own_memory)(uint64_t address);

}  // namespace hbbp::preload

#endif  // HBBP_TOOLS_PRELOAD_LOCK_MEMORY_H_
