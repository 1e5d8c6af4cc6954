// Zeroed memory for tables of the tracer, which are as large as they may ever become, and usually
// hold little.
//
// A program that locks its memory (mlockall) has all in memory that may be used, so only what is in
// use already, and some more, may be. Huge pages make tables cheaper that a burst touches here and
// there, since each burst misses the address translation of every small page again.
//
// Contract: not async-signal-safe, except GrowingMemory::Use.
#ifndef HBBP_LIB_TRACE_INTERPRETER_LARGE_MEMORY_H_
#define HBBP_LIB_TRACE_INTERPRETER_LARGE_MEMORY_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace hbbp::trace {

// Has the system put the first `bytes` into huge pages, if it has them. They take a millisecond or
// so to make, which a process that soon ends should not pay. Others may use the memory meanwhile.
void UseHugePages(void* memory, size_t bytes);

// Address space of which a first part may be used. Plain memory: it is not released by itself.
class GrowingMemory {
 public:
  GrowingMemory() = default;
  GrowingMemory(GrowingMemory&& other) noexcept;

  // Aligned to a huge page. False if there is no address space. What was reserved before is
  // forgotten, and stays.
  bool Reserve(size_t bytes);
  void Release();

  // May the first `bytes` be used now? Any thread, also in handlers: where more is asked for than
  // before it takes a system call.
  bool Use(size_t bytes) { return bytes <= usable_.load(std::memory_order_acquire) || Grow(bytes); }

  uint8_t* start() const { return start_; }
  bool Contains(uint64_t address) const {
    return address - reinterpret_cast<uint64_t>(start_) < reserved_;
  }
  size_t reserved() const { return reserved_; }
  size_t usable() const { return usable_.load(std::memory_order_relaxed); }

 private:
  bool Grow(size_t bytes);

  uint8_t* start_ = nullptr;
  size_t reserved_ = 0;
  std::atomic<size_t> usable_{0};
};

}  // namespace hbbp::trace

#endif  // HBBP_LIB_TRACE_INTERPRETER_LARGE_MEMORY_H_
