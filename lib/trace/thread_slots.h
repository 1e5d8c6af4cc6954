// ThreadSlots: which slot a thread has, and what goes with it: its counters, its alternate stack,
// the times of its handlers.
//
// The handler of a thread's first sample claims a slot, by a compare-and-swap in a table of owners.
// A thread keeps it over sessions, because its alternate stack belongs to it, until the worker
// finds that the thread has ended. What that has recorded still names the slot, so the slot is free
// for another thread only after the worker has delivered it.
//
// Contract: Find, Claim, InstallAlternateStack and what is inline are async-signal-safe and may be
// called at any time; everything else is the worker's. Memory stays mapped for ever.
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

  // Address space for so many threads; false if there is none.
  bool Reserve(uint32_t max_threads);
  // After Reserve, also if it failed.
  void Release();
  bool are_reserved() const { return slots_ != nullptr; }
  // Likewise for the times of handlers, once a session asks for them.
  bool ReserveHandlerTimes();
  // Makes room for threads that may come before the next call. What is unavailable now is asked for
  // again by the handler that needs it.
  void GrowAhead();
  // Is the address in one of our tables?
  bool Owns(uint64_t address) const;

  // All in use are below.
  uint32_t used() const { return used_.load(); }
  ThreadSlot* at(uint32_t index) { return &slots_[index]; }
  const ThreadSlot* at(uint32_t index) const { return &slots_[index]; }
  uint32_t IndexOf(const ThreadSlot* slot) const { return static_cast<uint32_t>(slot - slots_); }

  // Also of a slot that is not free yet; 0: nobody.
  uint32_t Thread(uint32_t index) const {
    return owners_[index].load(std::memory_order_relaxed) & ~kEndedBit;
  }
  // Has it a thread that was not found to have ended?
  bool IsInUse(uint32_t index) const {
    const uint32_t owner = owners_[index].load();
    return owner != 0 && (owner & kEndedBit) == 0;
  }
  // Threads whose slots are not free.
  uint32_t CountThreads() const;

  // nullptr if the thread has none.
  ThreadSlot* Find(uint32_t tid);
  // Its own, or a free one; nullptr if there is none, which is counted. `is_new`: nobody had it
  // yet.
  ThreadSlot* Claim(uint32_t tid, bool* is_new);
  // If the program has none. The return from the handler puts it in place.
  void InstallAlternateStack(const ThreadSlot* slot, ucontext_t* context);
  // After ReserveHandlerTimes.
  HandlerTimes* handler_times(const ThreadSlot* slot) { return &handler_times_[IndexOf(slot)]; }

  // Asks the kernel.
  bool HasEnded(uint32_t index) const;
  // For a thread that has ended. `has_bursts`: it is to stay known until FreeDelivered.
  void Free(uint32_t index, bool has_bursts);
  void FreeDelivered();

  // Was the thread in a handler? False if it is unknown.
  bool WasInHandler(uint32_t tid, uint64_t time_ns) const;

  // For the counters that are not a thread's.
  void AddOfWorker(Counter counter) { ++ended_counters_[static_cast<int>(counter)]; }
  // Of all threads since StartSession, by Counter.
  void ReadCounters(uint64_t (&sums)[kCounters]) const;
  void StartSession();

  // After fork, in the child, which gets new memory when it opens a session of its own: the
  // alternate stack of the thread that forked is in the old one.
  void ResetInChild();

 private:
  // With that bit, what the thread has recorded is still to be delivered.
  static constexpr uint32_t kEndedBit = uint32_t{1} << 31;

  bool MayUse(uint32_t index);

  uint32_t max_threads_ = 0;
  ThreadSlot* slots_ = nullptr;
  GrowingMemory slot_memory_;
  // By slot, apart from them since they are searched: the thread, 0 if free.
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
