// Replaces the exception memory of libstdc++: its reserve for when malloc fails is made by a
// constructor that runs after ours, and takes 72 KB of each process. What a thread has of
// exceptions is looked up by __tls_get_addr there, which may call malloc (see libc_threads.h).
//
// The C++ ABI defines the functions (https://itanium-cxx-abi.github.io/cxx-abi/abi-eh.html); they
// are local to the library. Each exception has a header of libstdc++ in front, which must be
// zeroed.
#include <stdlib.h>
#include <string.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>

namespace {

constexpr size_t kHeaderBytes = 128;
constexpr size_t kSlotBytes = 512;
constexpr size_t kSlots = 16;

struct Slot {
  alignas(16) uint8_t bytes[kSlotBytes];
};

struct ExceptionsOfThread {
  void* caught;
  unsigned uncaught;
};

[[gnu::tls_model("initial-exec")]] constinit thread_local ExceptionsOfThread of_thread = {};

Slot slots[kSlots];
std::atomic<bool> is_used[kSlots];

void* Allocate(size_t size) {
  void* memory = ::malloc(size);
  for (size_t i = 0; memory == nullptr && size <= kSlotBytes && i < kSlots; ++i) {
    if (!is_used[i].exchange(true)) memory = &slots[i];
  }
  if (memory == nullptr) std::terminate();
  return ::memset(memory, 0, size);
}

void Free(void* memory) {
  const size_t offset = static_cast<size_t>(static_cast<uint8_t*>(memory) - slots[0].bytes);
  if (offset < sizeof(slots)) {
    is_used[offset / kSlotBytes] = false;
  } else {
    ::free(memory);
  }
}

}  // namespace

// NOLINTBEGIN(bugprone-reserved-identifier): functions of the C++ library
extern "C" {

void* __cxa_allocate_exception(size_t size) noexcept {
  return static_cast<uint8_t*>(Allocate(kHeaderBytes + size)) + kHeaderBytes;
}

void __cxa_free_exception(void* exception) noexcept {
  Free(static_cast<uint8_t*>(exception) - kHeaderBytes);
}

void* __cxa_allocate_dependent_exception() noexcept { return Allocate(kHeaderBytes); }

void __cxa_free_dependent_exception(void* exception) noexcept { Free(exception); }

void* __cxa_get_globals() noexcept { return &of_thread; }

void* __cxa_get_globals_fast() noexcept { return &of_thread; }

}  // extern "C"
// NOLINTEND(bugprone-reserved-identifier)
