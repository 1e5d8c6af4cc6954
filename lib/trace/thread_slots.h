// ThreadSlots assigns a slot to each thread, with its counters, its alternate stack and the times
// of its handlers.
//
// The handler of a thread's first sample claims a slot, by a compare-and-swap in a table of owners.
// The thread keeps it across sessions, because its alternate stack belongs to it, until the worker
// finds that the thread has ended. Its bursts still refer to the slot, so the slot is free for
// another thread only after the worker has delivered them.
//
// Contract: Find, Claim, InstallAlternateStack and inline functions are async-signal-safe and may
// be called at any time; only the worker calls the other functions. Memory stays mapped for ever.
#ifndef HBBP_LIB_TRACE_THREAD_SLOTS_H_
#define HBBP_LIB_TRACE_THREAD_SLOTS_H_

#include <ucontext.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "trace/handler_times.h"
#include "trace/interpreter/large_memory.h"
#include "trace/thread_slot.h"

namespace hbbp::trace {

class ThreadSlots {
 public:
  static constexpr uint32_t kMaxThreads = 2048;

  // Reserves address space for so many threads. Returns false if there is none.
  bool Reserve(uint32_t max_threads);
  // Call it after Reserve, also if that failed.
  void Release();
  bool are_reserved() const { return slots_ != nullptr; }
  // Reserves memory for the times of handlers, when a session first needs them.
  bool ReserveHandlerTimes();
  // Makes room for threads that may start before the next call. A handler requests again what is
  // unavailable now.
  void GrowAhead();
  // Gives back address space that is reserved for more threads than these, and not in use.
  void Shrink(uint32_t threads);
  // Returns whether the address is in one of these tables.
  bool Owns(uint64_t address) const;

  // All slots in use have lower indices.
  uint32_t used() const { return used_.load(); }
  ThreadSlot* at(uint32_t index) { return &slots_[index]; }
  const ThreadSlot* at(uint32_t index) const { return &slots_[index]; }
  uint32_t IndexOf(const ThreadSlot* slot) const { return static_cast<uint32_t>(slot - slots_); }

  // Returns the thread of a slot, even if it has ended and the slot is not free yet, or 0.
  uint32_t Thread(uint32_t index) const {
    return owners_[index].load(std::memory_order_relaxed) & ~kEndedBit;
  }
  // Returns whether the slot has a thread that is not known to have ended.
  bool IsInUse(uint32_t index) const {
    const uint32_t owner = owners_[index].load();
    return owner != 0 && (owner & kEndedBit) == 0;
  }
  // Counts the threads whose slots are not free.
  uint32_t CountThreads() const;

  // Returns nullptr if the thread has no slot.
  ThreadSlot* Find(uint32_t tid);
  // Returns the slot of the thread, or a free one, or nullptr, which is counted. `is_new` is true
  // if the slot was never used before.
  ThreadSlot* Claim(uint32_t tid, bool* is_new);
  // Gives the thread an alternate stack if the program has not. The return from the handler
  // installs it.
  void InstallAlternateStack(ThreadSlot* slot, ucontext_t* context);
  // Requires ReserveHandlerTimes.
  HandlerTimes* handler_times(const ThreadSlot* slot) { return &handler_times_[IndexOf(slot)]; }

  // Asks the kernel whether the thread of the slot has ended.
  bool HasEnded(uint32_t index) const;
  // Frees the slot of a thread that has ended. If `has_bursts`, the thread stays known until
  // FreeDelivered.
  void Free(uint32_t index, bool has_bursts);
  void FreeDelivered();

  // Returns whether the thread was in a handler; false for an unknown thread.
  bool WasInHandler(uint32_t tid, uint64_t time_ns) const;

  // Counts something that belongs to no thread.
  void AddForWorker(Counter counter) { ++ended_counters_[static_cast<int>(counter)]; }
  // Sums the counters of all threads since StartSession.
  void ReadCounters(uint64_t (&sums)[kCounters]) const;
  void StartSession();

  // Call it in the child after fork. The child gets new memory when it opens a session of its own,
  // because the alternate stack of the thread that forked is in the old memory.
  void ResetInChild();

 private:
  // The thread has ended, and its bursts are still to be delivered.
  static constexpr uint32_t kEndedBit = uint32_t{1} << 31;

  bool MayUse(uint32_t index);
  bool IsStackOfSlot(ThreadSlot* slot, uint8_t* mark);

  uint32_t max_threads_ = 0;
  ThreadSlot* slots_ = nullptr;
  GrowingMemory slot_memory_;
  // These are the threads of the slots, 0 for a free one. They are separate from the slots because
  // they are searched.
  std::atomic<uint32_t> owners_[kMaxThreads] = {};
  std::atomic<uint32_t> used_{0};
  std::atomic<uint64_t> samples_without_slot_{0};
  GrowingMemory alternate_stacks_;
  HandlerTimes* handler_times_ = nullptr;  // by slot
  GrowingMemory handler_times_memory_;
  uint64_t ended_counters_[kCounters] = {};
};

}  // namespace hbbp::trace

#endif  // HBBP_LIB_TRACE_THREAD_SLOTS_H_
