// Alternate signal stacks that threads get before they run anything of the program.
#ifndef HBBP_TOOLS_PRELOAD_ALTERNATE_STACK_H_
#define HBBP_TOOLS_PRELOAD_ALTERNATE_STACK_H_

namespace hbbp::preload {

// Returns null if there is no memory. Some are kept to be used again.
void* MapAlternateStack();
void UnmapAlternateStack(void* memory);

// Gives the stack to the calling thread, which has none, until it ends. The thread has it whenever
// it has set none of its own, and instead of one that is too small.
void InstallAlternateStack(void* memory);

}  // namespace hbbp::preload

#endif  // HBBP_TOOLS_PRELOAD_ALTERNATE_STACK_H_
