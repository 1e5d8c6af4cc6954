// LookAheadPool: the interpreters that handlers share, two a processor, since each is large and is
// used for some microseconds at a time.
//
// Contract: Acquire, Release and CountWork are async-signal-safe, lock-free and called by any
// threads; everything else is the worker's. Memory stays mapped for ever.
#ifndef HBBP_LIB_TRACE_LOOK_AHEAD_POOL_H_
#define HBBP_LIB_TRACE_LOOK_AHEAD_POOL_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "trace/interpreter/large_memory.h"
#include "trace/interpreter/look_ahead.h"
#include "trace/thread_slot.h"

namespace hbbp::trace {

class CodeCache;

class LookAheadPool {
 public:
  // False if there is no address space.
  bool Reserve(CodeCache* code_cache);
  void Unmap();  // after Reserve, also if it failed
  // Spends some time and megabytes on making them faster.
  void Prewarm();
  // Is the address in our table? In an interpreter, as its stack pointer is?
  bool Owns(uint64_t address) const { return memory_.Contains(address); }
  bool IsInLookAhead(uint64_t address) const;

  // nullptr if none is free, or if there is no memory for another one now.
  LookAhead* Acquire();
  void Release(LookAhead* look_ahead);

  // What it did since its last Begin.
  static void CountWork(const LookAhead& look_ahead, ThreadSlot* slot);

 private:
  LookAhead* Make(unsigned index);

  CodeCache* code_cache_ = nullptr;
  GrowingMemory memory_;
  uint32_t count_ = 0;
  // A bit each.
  std::atomic<uint64_t> made_{0};
  std::atomic<uint64_t> free_{0};
};

}  // namespace hbbp::trace

#endif  // HBBP_LIB_TRACE_LOOK_AHEAD_POOL_H_
