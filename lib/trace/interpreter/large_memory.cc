#include "trace/interpreter/large_memory.h"

#include <sys/mman.h>
#include <sys/syscall.h>

#include "base/linux_constants.h"
#include "base/raw_syscall.h"

namespace hbbp::trace {
namespace {

constexpr size_t kHugePageBytes = 2 << 20;
constexpr size_t kGrowthBytes = 256 << 10;

constexpr size_t RoundUp(size_t bytes, size_t unit) { return (bytes + unit - 1) & ~(unit - 1); }

}  // namespace

void UseHugePages(void* memory, size_t bytes) {
  constexpr int kCollapseNow = 25;  // MADV_COLLAPSE, since Linux 6.1
  // Without huge pages everything works, only slower.
  (void)madvise(memory, RoundUp(bytes, kHugePageBytes), MADV_HUGEPAGE);
  (void)madvise(memory, RoundUp(bytes, kHugePageBytes), kCollapseNow);
}

void PopulatePages(void* memory, size_t bytes) {
  (void)RawSyscall(SYS_madvise, memory, bytes, kPopulateForWriting);
}

GrowingMemory::GrowingMemory(GrowingMemory&& other) noexcept
    : start_(other.start_), reserved_(other.reserved()), usable_(other.usable()) {
  other.start_ = nullptr;
  other.reserved_ = 0;
  other.usable_ = 0;
}

bool GrowingMemory::Reserve(size_t bytes) {
  const size_t wanted = RoundUp(bytes, kHugePageBytes);
  const size_t mapped = wanted + kHugePageBytes;
  void* memory =
      mmap(nullptr, mapped, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return false;
  auto* begin = static_cast<uint8_t*>(memory);
  const auto address = reinterpret_cast<uintptr_t>(begin);
  const size_t skipped = RoundUp(address, kHugePageBytes) - address;
  if (skipped != 0) munmap(begin, skipped);
  munmap(begin + skipped + wanted, mapped - skipped - wanted);
  start_ = begin + skipped;
  reserved_ = wanted;
  usable_.store(0, std::memory_order_release);
  return true;
}

void GrowingMemory::Release() {
  if (start_ != nullptr) munmap(start_, reserved());
  start_ = nullptr;
  reserved_ = 0;
  usable_.store(0, std::memory_order_relaxed);
}

// Whoever maps something where we have given back must not find it changed by a call of Grow.
void GrowingMemory::Shrink(size_t kept) {
  constexpr int kMaxYields = 1000;
  const size_t before = reserved();
  const size_t wanted = RoundUp(kept > usable() ? kept : usable(), kGrowthBytes);
  if (start_ == nullptr || wanted >= before) return;
  reserved_.store(wanted);
  for (int yields = 0; growing_.load() != 0; ++yields) {
    if (yields == kMaxYields) return reserved_.store(before);
    RawSyscall(SYS_sched_yield);
  }
  const size_t left = usable() > wanted ? usable() : wanted;
  if (left < before && RawSyscall(SYS_munmap, start_ + left, before - left) == 0) {
    return reserved_.store(left);
  }
  reserved_.store(before);
}

void GrowingMemory::ShrinkInChild() {
  growing_.store(0);
  Shrink(0);
}

bool GrowingMemory::Grow(size_t bytes) {
  growing_.fetch_add(1);
  const bool is_usable = bytes <= reserved_.load() && MakeUsable(bytes);
  growing_.fetch_sub(1);
  return is_usable;
}

// Two threads may grow the memory at the same time, each from the end that it knows, before which
// all is usable.
bool GrowingMemory::MakeUsable(size_t bytes) {
  const size_t wanted = RoundUp(bytes, kGrowthBytes);
  size_t usable = usable_.load(std::memory_order_acquire);
  if (wanted > usable &&
      RawSyscall(SYS_mprotect, start_ + usable, wanted - usable, PROT_READ | PROT_WRITE) != 0) {
    return false;
  }
  while (usable < wanted &&
         !usable_.compare_exchange_weak(usable, wanted, std::memory_order_acq_rel)) {
  }
  return true;
}

}  // namespace hbbp::trace
