// Provides zeroed memory for tables of the tracer, which have their maximum size from the start and
// usually hold little.
//
// In a program that locks its memory (mlockall) all usable memory is resident, so only what is in
// use, and some more, is usable. Huge pages make tables cheaper that a burst accesses at scattered
// addresses, because each burst misses the address translation of every small page again.
//
// Contract: not async-signal-safe, except PopulatePages and GrowingMemory::Use.
#ifndef HBBP_LIB_TRACE_INTERPRETER_LARGE_MEMORY_H_
#define HBBP_LIB_TRACE_INTERPRETER_LARGE_MEMORY_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace hbbp::trace {

// Makes the system put the first `bytes` into huge pages, if it has them. This takes about a
// millisecond, which a short-lived process should not pay. Other threads may use the memory
// meanwhile.
void UseHugePages(void* memory, size_t bytes);

// Puts the pages of usable memory, which begins with a page, into memory for writing. That costs
// less than a fault of each (since Linux 5.14).
void PopulatePages(void* memory, size_t bytes);

// GrowingMemory is address space whose first part may be used. No destructor releases it.
class GrowingMemory {
 public:
  GrowingMemory() = default;
  GrowingMemory(GrowingMemory&& other) noexcept;

  // Reserves memory aligned to a huge page. Returns false if there is no address space. Memory that
  // was reserved before stays mapped.
  bool Reserve(size_t bytes);
  void Release();

  // Gives back address space beyond the first `kept` bytes, unless it is usable already. One thread
  // at a time may call it. If another one stays in the middle of Use, nothing is given back.
  void Shrink(size_t kept);
  // Does so in the child after fork, where no other thread is, with all that is not usable.
  void ShrinkInChild();

  // Returns whether the first `bytes` may be used now. Any thread and handlers may call it; a
  // larger size than before takes a system call.
  bool Use(size_t bytes) { return bytes <= usable_.load(std::memory_order_acquire) || Grow(bytes); }

  uint8_t* start() const { return start_; }
  bool Contains(uint64_t address) const {
    return address - reinterpret_cast<uint64_t>(start_) < reserved();
  }
  size_t reserved() const { return reserved_.load(std::memory_order_relaxed); }
  size_t usable() const { return usable_.load(std::memory_order_relaxed); }

 private:
  bool Grow(size_t bytes);
  bool MakeUsable(size_t bytes);

  uint8_t* start_ = nullptr;
  std::atomic<size_t> reserved_{0};
  std::atomic<int> growing_{0};  // calls of Grow that have not returned
  std::atomic<size_t> usable_{0};
};

}  // namespace hbbp::trace

#endif  // HBBP_LIB_TRACE_INTERPRETER_LARGE_MEMORY_H_
