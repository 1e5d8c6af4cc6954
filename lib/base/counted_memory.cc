#include "base/counted_memory.h"

#include <new>

namespace hbbp {

void CountedMemory::AddOthers(uint64_t bytes) {
  const uint64_t others = others_.fetch_add(bytes) + bytes;
  if (limit_ != 0 && own_ + others > limit_) {
    others_ -= bytes;
    throw std::bad_alloc();
  }
  UpdatePeak();
}

void* CountedMemory::do_allocate(size_t size, size_t alignment) {
  const uint64_t own = own_.fetch_add(size) + size;
  const bool is_too_much = limit_ != 0 && own + others_ > limit_;
  void* memory = nullptr;
  if (!is_too_much) {
    memory = allocator_.allocate != nullptr
                 ? allocator_.allocate(size, alignment, allocator_.user_data)
                 : ::operator new (size, std::align_val_t{alignment}, std::nothrow);
  }
  if (memory == nullptr) {
    own_ -= size;
    throw std::bad_alloc();
  }
  UpdatePeak();
  return memory;
}

void CountedMemory::do_deallocate(void* memory, size_t size, size_t alignment) {
  own_ -= size;
  if (allocator_.deallocate != nullptr) {
    allocator_.deallocate(memory, size, alignment, allocator_.user_data);
  } else {
    ::operator delete (memory, std::align_val_t{alignment}, std::nothrow);
  }
}

void CountedMemory::UpdatePeak() {
  const uint64_t now = used();
  uint64_t peak = peak_;
  while (now > peak && !peak_.compare_exchange_weak(peak, now)) {
  }
}

}  // namespace hbbp
