// Memory of the library's own, by malloc, free and new. See own_memory.cc.
#ifndef HBBP_TOOLS_PRELOAD_OWN_MEMORY_H_
#define HBBP_TOOLS_PRELOAD_OWN_MEMORY_H_

namespace hbbp::preload {

// While an object lives, a fork does not wait until no thread is at work on the memory: the caller
// may have interrupted that. The child keeps what was allocated, and what was free is lost.
class ForkAtAnyPoint {
 public:
  ForkAtAnyPoint();
  ~ForkAtAnyPoint();
  ForkAtAnyPoint(const ForkAtAnyPoint&) = delete;
  ForkAtAnyPoint& operator=(const ForkAtAnyPoint&) = delete;
};

// Gives back most of the address space that is reserved and was never used.
void ReleaseUnusedMemory();

// Does in the child of such a fork what handlers of pthread_atfork do otherwise.
void StartOwnMemoryAnew();

}  // namespace hbbp::preload

#endif  // HBBP_TOOLS_PRELOAD_OWN_MEMORY_H_
