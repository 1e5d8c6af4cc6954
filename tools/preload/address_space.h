// Address space of the profiler, which a program that limits its own gets back.
#ifndef HBBP_TOOLS_PRELOAD_ADDRESS_SPACE_H_
#define HBBP_TOOLS_PRELOAD_ADDRESS_SPACE_H_

namespace hbbp::preload {

// Gives back what is reserved for the tracer and not in use; nullptr: there is no tracer.
extern void (*release_unused_tables)();

}  // namespace hbbp::preload

#endif  // HBBP_TOOLS_PRELOAD_ADDRESS_SPACE_H_
