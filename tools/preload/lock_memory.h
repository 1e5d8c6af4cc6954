// Memory of the profiler that a program which locks its memory need not lock.
#ifndef HBBP_TOOLS_PRELOAD_LOCK_MEMORY_H_
#define HBBP_TOOLS_PRELOAD_LOCK_MEMORY_H_

#include <cstdint>

namespace hbbp::preload {

// Of tables without a name; nullptr: there are none.
extern bool (*is_own_memory)(uint64_t address);

}  // namespace hbbp::preload

#endif  // HBBP_TOOLS_PRELOAD_LOCK_MEMORY_H_
