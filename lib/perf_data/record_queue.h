// RecordQueue has copies of records that wait until those before them have come.
#ifndef HBBP_LIB_PERF_DATA_RECORD_QUEUE_H_
#define HBBP_LIB_PERF_DATA_RECORD_QUEUE_H_

#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <span>
#include <vector>

#include "base/byte_buffer.h"

namespace hbbp {

struct PerfEvent;

class RecordQueue {
 public:
  struct Entry {
    uint64_t time = 0;
    size_t position = 0;  // in bytes_
    uint32_t size = 0;
    const PerfEvent* event = nullptr;
    uint64_t offset = 0;  // in the recording
  };

  explicit RecordQueue(std::pmr::memory_resource* memory = std::pmr::new_delete_resource())
      : memory_(*memory), bytes_(memory), entries_(memory) {}

  // If there is no memory for it, nothing changes, and std::bad_alloc is thrown.
  void Push(std::span<const uint8_t> record, uint64_t time, const PerfEvent* event,
            uint64_t offset);

  size_t size() const { return entries_.size(); }
  size_t bytes() const { return bytes_.size() + entries_.size() * sizeof(Entry); }
  // Returns the latest time of all records so far.
  uint64_t latest() const { return latest_; }
  // Returns a time than which half of the records are not later.
  uint64_t MedianTime() const;

  // Keeps no memory if it is empty.
  void Shrink();

  // Calls `visit(record, entry)` with the records up to `limit`, oldest first, and drops them.
  // Records of the same time keep their order.
  template <typename Visitor>
  void Flush(uint64_t limit, Visitor&& visit) {
    Sort();
    size_t count = 0;
    for (; count < entries_.size() && entries_[count].time <= limit; ++count) {
      const Entry& entry = entries_[count];
      visit(std::span<const uint8_t>(bytes_.data() + entry.position, entry.size), entry);
    }
    Drop(count);
  }

 private:
  void Sort();
  void Drop(size_t count);

  std::pmr::memory_resource& memory_;
  ByteBuffer bytes_;
  std::pmr::vector<Entry> entries_;
  uint64_t latest_ = 0;
};

}  // namespace hbbp

#endif  // HBBP_LIB_PERF_DATA_RECORD_QUEUE_H_
