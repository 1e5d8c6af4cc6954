// Address space of the profiler, which a program that limits its own gets back.
#ifndef HBBP_TOOLS_PRELOAD_ADDRESS_SPACE_H_
#define HBBP_TOOLS_PRELOAD_ADDRESS_SPACE_H_

#include <cstdint>

namespace hbbp::preload {

// Gives back what is reserved for the tracer and not in use, if so much is little; nullptr: EBS
// alone has no tables.
extern void (*release_unused_tables)(uint64_t limit_bytes);

}  // namespace hbbp::preload

#endif  // HBBP_TOOLS_PRELOAD_ADDRESS_SPACE_H_
