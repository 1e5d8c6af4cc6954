// ByteBuffer holds bytes that grow in a memory resource. A std::pmr::vector would copy them one by
// one.
#ifndef HBBP_LIB_BASE_BYTE_BUFFER_H_
#define HBBP_LIB_BASE_BYTE_BUFFER_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory_resource>
#include <span>
#include <utility>

namespace hbbp {

// Functions that grow the buffer throw std::bad_alloc if there is no memory; the buffer is then
// unchanged.
class ByteBuffer {
 public:
  explicit ByteBuffer(std::pmr::memory_resource* memory) : memory_(*memory) {}
  ~ByteBuffer() { Release(); }
  ByteBuffer(const ByteBuffer&) = delete;
  ByteBuffer& operator=(const ByteBuffer&) = delete;

  const uint8_t* data() const { return data_; }
  size_t size() const { return size_; }

  void Append(std::span<const uint8_t> bytes) {
    if (bytes.size() > capacity_ - size_) Reserve(std::max(size_ + bytes.size(), 2 * capacity_));
    if (bytes.empty()) return;
    // Reserve has allocated data_. NOLINTNEXTLINE(*-core.NonNullParamChecker)
    std::memcpy(data_ + size_, bytes.data(), bytes.size());
    size_ += bytes.size();
  }
  void Reserve(size_t capacity) {
    if (capacity <= capacity_) return;
    auto* const data = static_cast<uint8_t*>(memory_.allocate(capacity, 1));
    const size_t size = size_;
    if (size != 0) std::memcpy(data, data_, size);
    Release();
    data_ = data;
    size_ = size;
    capacity_ = capacity;
  }
  // `size` is at most size().
  void Truncate(size_t size) { size_ = size; }
  void Release() {
    if (data_ != nullptr) memory_.deallocate(data_, capacity_, 1);
    data_ = nullptr;
    size_ = capacity_ = 0;
  }
  // Both buffers must use the same memory resource.
  void Swap(ByteBuffer* other) {
    std::swap(data_, other->data_);
    std::swap(size_, other->size_);
    std::swap(capacity_, other->capacity_);
  }

 private:
  std::pmr::memory_resource& memory_;
  uint8_t* data_ = nullptr;
  size_t size_ = 0;
  size_t capacity_ = 0;
};

}  // namespace hbbp

#endif  // HBBP_LIB_BASE_BYTE_BUFFER_H_
