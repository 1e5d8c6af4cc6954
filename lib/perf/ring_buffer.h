// RingBuffer is the memory in which the kernel leaves the records of a perf event.
#ifndef HBBP_LIB_PERF_RING_BUFFER_H_
#define HBBP_LIB_PERF_RING_BUFFER_H_

#include <linux/perf_event.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/status.h"

namespace hbbp {

// There may be one reader at a time.
class RingBuffer {
 public:
  // `data_bytes` is rounded up to a power of two of pages; if locked memory is short, smaller
  // buffers are tried down to one page.
  static StatusOr<RingBuffer> Map(int fd, size_t data_bytes);

  RingBuffer(RingBuffer&& other) noexcept;
  RingBuffer& operator=(RingBuffer&& other) noexcept;
  ~RingBuffer();

  size_t data_bytes() const { return data_bytes_; }

  // Calls `visit(std::span<const uint8_t> record)` with each record that is there, oldest first,
  // and hands the room back to the kernel. A record's span is valid during the call.
  template <typename Visitor>
  void Consume(Visitor&& visit) {
    uint64_t tail = ReadAll(visit);
    Release(tail);
  }

  // Does the same as Consume, but the records stay.
  template <typename Visitor>
  void Peek(Visitor&& visit) {
    ReadAll(visit);
  }

  // Is called in the child after a fork. The kernel has not copied the mapping, so there is nothing
  // to unmap.
  void Abandon() { page_ = nullptr; }

 private:
  RingBuffer(perf_event_mmap_page* page, size_t data_bytes)
      : page_(page), data_bytes_(data_bytes) {}

  template <typename Visitor>
  uint64_t ReadAll(Visitor&& visit) {
    // Pairs with the kernel's write barrier before it advances data_head.
    uint64_t head = __atomic_load_n(&page_->data_head, __ATOMIC_ACQUIRE);
    uint64_t tail = page_->data_tail;
    while (head - tail >= sizeof(perf_event_header)) {
      std::span<const uint8_t> record = RecordAt(tail, head - tail);
      if (record.empty()) return head;
      visit(record);
      tail += record.size();
    }
    return tail;
  }

  // Returns an empty span if the record's size makes no sense.
  std::span<const uint8_t> RecordAt(uint64_t position, uint64_t available);
  // Pairs with the kernel's read of data_tail: the room is given back after it was read.
  void Release(uint64_t tail) { __atomic_store_n(&page_->data_tail, tail, __ATOMIC_RELEASE); }

  perf_event_mmap_page* page_ = nullptr;
  size_t data_bytes_ = 0;
  std::vector<uint8_t> wrapped_;
};

}  // namespace hbbp

#endif  // HBBP_LIB_PERF_RING_BUFFER_H_
