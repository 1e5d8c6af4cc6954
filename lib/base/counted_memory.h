// CountedMemory: memory of a host's allocator, counted, and no more of it than is allowed.
#ifndef HBBP_LIB_BASE_COUNTED_MEMORY_H_
#define HBBP_LIB_BASE_COUNTED_MEMORY_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <new>

namespace hbbp {

struct Allocator {
  // Return NULL if there is none. Both NULL: operator new.
  void* (*allocate)(size_t size, size_t alignment, void* user_data) = nullptr;
  void (*deallocate)(void* memory, size_t size, size_t alignment, void* user_data) = nullptr;
  void* user_data = nullptr;
};

// Throws std::bad_alloc where there is none. Any thread.
class CountedMemory : public std::pmr::memory_resource {
 public:
  // `most` bytes; 0: as much as there is.
  explicit CountedMemory(const Allocator& allocator = {}, uint64_t most = 0)
      : allocator_(allocator), most_(most) {}

  // Memory that is in use elsewhere counts as well. AddOthers throws if it is too much.
  void AddOthers(uint64_t bytes);
  void SubtractOthers(uint64_t bytes) { others_ -= bytes; }

  uint64_t most() const { return most_; }
  // With those elsewhere.
  uint64_t used() const { return own_ + others_; }
  uint64_t peak() const { return peak_; }

 private:
  void* do_allocate(size_t size, size_t alignment) override;
  void do_deallocate(void* memory, size_t size, size_t alignment) override;
  bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override {
    return this == &other;
  }
  void NotePeak();

  const Allocator allocator_;
  const uint64_t most_;
  std::atomic<uint64_t> own_{0};
  std::atomic<uint64_t> others_{0};
  std::atomic<uint64_t> peak_{0};
};

// False if there was no memory for it.
template <typename Body>
bool HasMemoryFor(Body&& body) {
  try {
    body();
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

// What something takes of a CountedMemory elsewhere, for as long as it lives.
class MemoryCharge {
 public:
  explicit MemoryCharge(CountedMemory* memory) : memory_(*memory) {}
  ~MemoryCharge() { memory_.SubtractOthers(bytes_); }
  MemoryCharge(const MemoryCharge&) = delete;
  MemoryCharge& operator=(const MemoryCharge&) = delete;

  // Throws std::bad_alloc if it is too much.
  void Add(uint64_t bytes) {
    memory_.AddOthers(bytes);
    bytes_ += bytes;
  }
  // Of what was added.
  void Subtract(uint64_t bytes) {
    memory_.SubtractOthers(bytes);
    bytes_ -= bytes;
  }
  // It takes so much now, or still what it took before. Throws as Add.
  void GrowTo(uint64_t bytes) {
    if (bytes > bytes_) Add(bytes - bytes_);
  }

 private:
  CountedMemory& memory_;
  uint64_t bytes_ = 0;
};

}  // namespace hbbp

#endif  // HBBP_LIB_BASE_COUNTED_MEMORY_H_
