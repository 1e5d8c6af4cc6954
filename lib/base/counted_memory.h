// CountedMemory counts the memory that it takes from a host's allocator and refuses more than a
// limit.
#ifndef HBBP_LIB_BASE_COUNTED_MEMORY_H_
#define HBBP_LIB_BASE_COUNTED_MEMORY_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <new>

namespace hbbp {

struct Allocator {
  // Returns NULL if there is no memory. If both functions are NULL, operator new is used.
  void* (*allocate)(size_t size, size_t alignment, void* user_data) = nullptr;
  void (*deallocate)(void* memory, size_t size, size_t alignment, void* user_data) = nullptr;
  void* user_data = nullptr;
};

// Throws std::bad_alloc if there is no memory. Any thread may use it.
class CountedMemory : public std::pmr::memory_resource {
 public:
  // A `limit` of 0 means none.
  explicit CountedMemory(const Allocator& allocator = {}, uint64_t limit = 0)
      : allocator_(allocator), limit_(limit) {}

  // Count memory that is in use elsewhere. AddOthers throws if it exceeds the limit.
  void AddOthers(uint64_t bytes);
  void SubtractOthers(uint64_t bytes) { others_ -= bytes; }

  uint64_t limit() const { return limit_; }
  // Includes what AddOthers counted.
  uint64_t used() const { return own_ + others_; }
  uint64_t peak() const { return peak_; }

 private:
  void* do_allocate(size_t size, size_t alignment) override;
  void do_deallocate(void* memory, size_t size, size_t alignment) override;
  bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override {
    return this == &other;
  }
  void UpdatePeak();

  const Allocator allocator_;
  const uint64_t limit_;
  std::atomic<uint64_t> own_{0};
  std::atomic<uint64_t> others_{0};
  std::atomic<uint64_t> peak_{0};
};

// Returns false if `body` threw std::bad_alloc.
template <typename Body>
bool HasMemoryFor(Body&& body) {
  try {
    body();
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

// A MemoryCharge counts memory that is in use elsewhere against a CountedMemory, as long as it
// lives.
class MemoryCharge {
 public:
  explicit MemoryCharge(CountedMemory* memory) : memory_(*memory) {}
  ~MemoryCharge() { memory_.SubtractOthers(bytes_); }
  MemoryCharge(const MemoryCharge&) = delete;
  MemoryCharge& operator=(const MemoryCharge&) = delete;

  // Throws std::bad_alloc if it exceeds the limit.
  void Add(uint64_t bytes) {
    memory_.AddOthers(bytes);
    bytes_ += bytes;
  }
  // `bytes` is at most what was added.
  void Subtract(uint64_t bytes) {
    memory_.SubtractOthers(bytes);
    bytes_ -= bytes;
  }
  // Raises the charge to `bytes`, and never lowers it. Throws as Add does.
  void GrowTo(uint64_t bytes) {
    if (bytes > bytes_) Add(bytes - bytes_);
  }

 private:
  CountedMemory& memory_;
  uint64_t bytes_ = 0;
};

}  // namespace hbbp

#endif  // HBBP_LIB_BASE_COUNTED_MEMORY_H_
