// LookAheadPool holds the interpreters that handlers share, two per processor, because each is
// large and is used for some microseconds at a time.
//
// Contract: Acquire, Release and CountWork are async-signal-safe, lock-free and called by any
// thread; only the worker calls the other functions. Memory stays mapped for ever.
#ifndef HBBP_LIB_TRACE_LOOK_AHEAD_POOL_H_
#define HBBP_LIB_TRACE_LOOK_AHEAD_POOL_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/recorded_access.h"
#include "trace/interpreter/large_memory.h"
#include "trace/interpreter/look_ahead.h"
#include "trace/thread_slot.h"

namespace hbbp::trace {

class CodeCache;

class LookAheadPool {
 public:
  // Returns false if there is no address space.
  bool Reserve(CodeCache* code_cache);
  void Unmap();  // call it after Reserve, also if that failed
  // Has the interpreters that are acquired from now on log accesses and values, or not. Returns
  // false if there is no address space for the logs, which stay reserved.
  bool LogAccesses(bool logs);
  // Spends some time and megabytes to make the interpreters faster.
  void Prewarm();
  // Return whether the address is in the memory of this table, and whether it is in an interpreter,
  // as a stack pointer may be.
  bool Owns(uint64_t address) const {
    return memory_.Contains(address) || access_logs_.Contains(address);
  }
  bool IsInLookAhead(uint64_t address) const;

  // Returns nullptr if none is free, or if there is no memory for another one now.
  LookAhead* Acquire();
  void Release(LookAhead* look_ahead);

  // Counts what the interpreter did since its last Begin.
  static void CountWork(const LookAhead& look_ahead, ThreadSlot* slot);

 private:
  LookAhead* Make(unsigned index);
  RecordedAccess* AccessLog(unsigned index);

  CodeCache* code_cache_ = nullptr;
  GrowingMemory memory_;
  GrowingMemory access_logs_;
  bool logs_accesses_ = false;
  uint32_t count_ = 0;
  // Each interpreter has a bit.
  std::atomic<uint64_t> made_{0};
  std::atomic<uint64_t> free_{0};
};

}  // namespace hbbp::trace

#endif  // HBBP_LIB_TRACE_LOOK_AHEAD_POOL_H_
