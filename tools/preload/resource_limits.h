// What a program that limits its resources gets back of those of the profiler.
#ifndef HBBP_TOOLS_PRELOAD_RESOURCE_LIMITS_H_
#define HBBP_TOOLS_PRELOAD_RESOURCE_LIMITS_H_

#include <cstdint>

namespace hbbp::preload {

// Gives back what is reserved for the tracer and not in use, if so much is little; nullptr: EBS
// alone has no tables.
extern void (*release_unused_tables)(uint64_t limit_bytes);

}  // namespace hbbp::preload

#endif  // HBBP_TOOLS_PRELOAD_RESOURCE_LIMITS_H_
