// BurstBuffer carries bursts from signal handlers to the worker.
//
// A thread fills a buffer of its own; the worker may read entries up to `committed` at any time,
// without taking the buffer away. A buffer in which the next burst does not fit goes to the list of
// full buffers, and the thread takes a free one.
//
// Contract: Take, PushFull and all of BurstBuffer are async-signal-safe and lock-free (a list of
// free buffers with a tag against ABA, a list of full ones that is only emptied as a whole). One
// thread writes a buffer, and one worker reads it.
#ifndef HBBP_LIB_TRACE_BURST_BUFFER_H_
#define HBBP_LIB_TRACE_BURST_BUFFER_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/recorded_access.h"
#include "base/taken_branch.h"
#include "trace/interpreter/access_timing.h"
#include "trace/interpreter/large_memory.h"

namespace hbbp::trace {

// PartEnd says what follows a part of a burst in the buffers of its thread.
enum class PartEnd : uint16_t {
  kLast,       // another burst
  kContinues,  // the next branches
  kAfterGap,   // branches of the same burst, after some that could not be recorded
};

// BurstCost is what must be known of a burst to find how long the program took for it.
struct BurstCost {
  // CPU time of the handlers of the thread since the burst before it began, without its own.
  uint64_t handlers_ns = 0;
  MemoryUse memory_use;
  bool begins_in_new_page = false;  // LookAheadStats says what it is
  uint16_t width_ticks = 0;         // LookAhead::MeasureWidth of its first run, or 0
  // It ended before it was full: bursts that begin after the location where it ended are too few.
  bool is_cut = false;
  // It ended at the first taken branch from BurstLimits::instructions on.
  bool has_all_instructions = false;
  uint32_t instructions = 0;  // that memory_use is of: all from its beginning on
};

// A header precedes the branches of a burst, or of a part of one, or the accesses to memory of the
// branches before it.
struct alignas(sizeof(TakenBranch)) BurstHeader {
  uint64_t time_ns = 0;       // CLOCK_MONOTONIC when the burst began
  uint64_t instructions = 0;  // instructions in the streams that end in this part
  uint32_t branches = 0;      // or accesses, if has_accesses
  uint16_t periods = 1;       // sampling periods that the burst represents
  PartEnd end = PartEnd::kLast;
  bool has_accesses = false;
  BurstCost cost;  // of the last part
};
// A header takes so many entries of a buffer.
inline constexpr uint32_t kHeaderEntries = sizeof(BurstHeader) / sizeof(TakenBranch);
static_assert(sizeof(BurstHeader) == kHeaderEntries * sizeof(TakenBranch));
static_assert(sizeof(RecordedAccess) == sizeof(TakenBranch));

struct alignas(64) BurstBuffer {
  static constexpr size_t kBytes = 16 * 1024;
  static constexpr size_t kControlBytes = 64;
  // A buffer has so many entries: branches, and headers of kHeaderEntries each.
  static constexpr uint32_t kCapacity = (kBytes - kControlBytes) / sizeof(TakenBranch);

  std::atomic<uint32_t> next;       // in a list: index + 1
  uint32_t slot;                    // the slot of the thread that fills it
  std::atomic<uint32_t> committed;  // entries that the worker may read
  uint32_t consumed;                // entries that the worker has read; only the worker uses it
  uint8_t padding[kControlBytes - 16];
  TakenBranch entries[kCapacity];

  BurstHeader* HeaderAt(uint32_t entry) { return reinterpret_cast<BurstHeader*>(&entries[entry]); }
};
static_assert(sizeof(BurstBuffer) == BurstBuffer::kBytes);

class BurstBufferPool {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;

  // Manages `capacity` buffers in `memory`. None of them may be used before Allow.
  void Init(GrowingMemory* memory, uint32_t capacity);

  // Allows the use of `more` buffers. Their memory is requested when they are first used.
  void Allow(uint32_t more) { allowed_.fetch_add(more, std::memory_order_relaxed); }

  // Buffers with a lower index have been used.
  uint32_t begun() const { return begun_.load(std::memory_order_relaxed); }

  BurstBuffer* at(uint32_t index) { return &buffers_[index]; }

  // Returns kNone if no buffer is free and there is no memory for another one now.
  uint32_t Take();
  void Recycle(uint32_t index);

  // Returns how many full buffers wait now.
  uint32_t PushFull(uint32_t index);

  // Takes all full buffers and calls visit(index) for each, oldest first. Only the worker calls it.
  template <typename Visitor>
  void TakeFull(Visitor&& visit) {
    uint32_t taken = 0;
    uint32_t oldest = ReverseList(full_.exchange(0, std::memory_order_acquire), &taken);
    waiting_.fetch_sub(taken, std::memory_order_relaxed);
    while (oldest != 0) {
      const uint32_t index = oldest - 1;
      oldest = buffers_[index].next.load(std::memory_order_relaxed);
      visit(index);
    }
  }

 private:
  uint32_t TakeUnused();
  uint32_t ReverseList(uint32_t head, uint32_t* length);

  GrowingMemory* memory_ = nullptr;
  BurstBuffer* buffers_ = nullptr;
  uint32_t capacity_ = 0;
  std::atomic<uint32_t> allowed_{0};
  std::atomic<uint32_t> begun_{0};  // buffers that have been used at least once
  std::atomic<uint64_t> free_{0};   // tag in the upper half, index + 1 in the lower
  std::atomic<uint32_t> full_{0};   // index + 1
  std::atomic<uint32_t> waiting_{0};
};

}  // namespace hbbp::trace

#endif  // HBBP_LIB_TRACE_BURST_BUFFER_H_
