#include "trace/burst_buffer.h"

#include "base/linux_constants.h"

namespace hbbp::trace {
namespace {

static_assert(sizeof(BurstBuffer) % kPageBytes == 0);  // for PopulatePages

constexpr uint64_t kTagStep = uint64_t{1} << 32;

constexpr uint32_t IndexPlusOne(uint64_t head) { return static_cast<uint32_t>(head); }

}  // namespace

void BurstBufferPool::Init(GrowingMemory* memory, uint32_t capacity) {
  memory_ = memory;
  buffers_ = reinterpret_cast<BurstBuffer*>(memory->start());
  capacity_ = capacity;
  allowed_.store(0, std::memory_order_relaxed);
  begun_.store(0, std::memory_order_relaxed);
  free_.store(0, std::memory_order_relaxed);
  full_.store(0, std::memory_order_relaxed);
  waiting_.store(0, std::memory_order_relaxed);
}

uint32_t BurstBufferPool::TakeUnused() {
  const uint32_t allowed = allowed_.load(std::memory_order_relaxed);
  const uint32_t end = allowed < capacity_ ? allowed : capacity_;
  uint32_t index = begun_.load(std::memory_order_relaxed);
  while (index < end && memory_->Use((size_t{index} + 1) * sizeof(BurstBuffer))) {
    if (begun_.compare_exchange_weak(index, index + 1, std::memory_order_relaxed)) {
      PopulatePages(&buffers_[index], sizeof(BurstBuffer));
      return index;
    }
  }
  return kNone;
}

uint32_t BurstBufferPool::Take() {
  uint64_t head = free_.load(std::memory_order_acquire);
  for (;;) {
    if (IndexPlusOne(head) == 0) return TakeUnused();
    const uint32_t index = IndexPlusOne(head) - 1;
    // Another thread may take the buffer and change `next` meanwhile; then the tag differs.
    const uint32_t next = buffers_[index].next.load(std::memory_order_relaxed);
    const uint64_t new_head = ((head & ~uint64_t{UINT32_MAX}) + kTagStep) | next;
    if (free_.compare_exchange_weak(head, new_head, std::memory_order_acquire)) {
      buffers_[index].consumed = 0;
      buffers_[index].committed.store(0, std::memory_order_relaxed);
      return index;
    }
  }
}

void BurstBufferPool::Recycle(uint32_t index) {
  uint64_t head = free_.load(std::memory_order_relaxed);
  for (;;) {
    buffers_[index].next.store(IndexPlusOne(head), std::memory_order_relaxed);
    const uint64_t new_head = ((head & ~uint64_t{UINT32_MAX}) + kTagStep) | (index + 1);
    if (free_.compare_exchange_weak(head, new_head, std::memory_order_release)) return;
  }
}

uint32_t BurstBufferPool::PushFull(uint32_t index) {
  uint32_t head = full_.load(std::memory_order_relaxed);
  do {
    buffers_[index].next.store(head, std::memory_order_relaxed);
  } while (!full_.compare_exchange_weak(head, index + 1, std::memory_order_release));
  return waiting_.fetch_add(1, std::memory_order_relaxed) + 1;
}

uint32_t BurstBufferPool::ReverseList(uint32_t head, uint32_t* length) {
  uint32_t reversed = 0;
  for (*length = 0; head != 0; ++*length) {
    const uint32_t next = buffers_[head - 1].next.load(std::memory_order_relaxed);
    buffers_[head - 1].next.store(reversed, std::memory_order_relaxed);
    reversed = head;
    head = next;
  }
  return reversed;
}

}  // namespace hbbp::trace
