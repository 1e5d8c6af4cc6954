#include "trace/large_memory.h"

#include <sys/mman.h>

#include <cstdint>

namespace hbbp::trace {
namespace {

constexpr size_t kHugePageBytes = 2 << 20;

size_t RoundUp(size_t bytes) { return (bytes + kHugePageBytes - 1) & ~(kHugePageBytes - 1); }

}  // namespace

void* MapLargeMemory(size_t bytes) {
  const size_t wanted = RoundUp(bytes);
  const size_t mapped = wanted + kHugePageBytes;
  void* memory = mmap(nullptr, mapped, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  auto* start = static_cast<uint8_t*>(memory);
  const size_t skipped =
      RoundUp(reinterpret_cast<uintptr_t>(start)) - reinterpret_cast<uintptr_t>(start);
  if (skipped != 0) munmap(start, skipped);
  munmap(start + skipped + wanted, mapped - skipped - wanted);
  return start + skipped;
}

void UseHugePages(void* memory, size_t bytes) {
  constexpr int kCollapseNow = 25;  // MADV_COLLAPSE, since Linux 6.1
  // Without them it works as well, only slower.
  (void)madvise(memory, RoundUp(bytes), MADV_HUGEPAGE);
  (void)madvise(memory, RoundUp(bytes), kCollapseNow);
}

void UnmapLargeMemory(void* memory, size_t bytes) { munmap(memory, RoundUp(bytes)); }

}  // namespace hbbp::trace
