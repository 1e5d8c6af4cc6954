#include "trace/look_ahead_pool.h"

#include <unistd.h>

#include <new>

namespace hbbp::trace {
namespace {

constexpr uint32_t kMaxLookAheads = 64;
// Of a run.
constexpr uint32_t kMaxAccesses = 8192;
constexpr size_t kAccessLogBytes = kMaxAccesses * sizeof(RecordedAccess);

size_t Stride() {
  return (LookAhead::Size() + LookAhead::Alignment() - 1) & ~(LookAhead::Alignment() - 1);
}

}  // namespace

bool LookAheadPool::Reserve(CodeCache* code_cache) {
  new (&memory_) GrowingMemory();
  new (&access_logs_) GrowingMemory();
  const long cpus = ::sysconf(_SC_NPROCESSORS_ONLN);
  const uint32_t wanted = cpus < 1 ? 4 : static_cast<uint32_t>(cpus) * 2 + 2;
  count_ = wanted > kMaxLookAheads ? kMaxLookAheads : wanted;
  code_cache_ = code_cache;
  if (!memory_.Reserve(count_ * Stride())) return false;
  made_ = 0;
  free_ = count_ == 64 ? ~uint64_t{0} : (uint64_t{1} << count_) - 1;
  return true;
}

void LookAheadPool::Unmap() {
  memory_.Release();
  access_logs_.Release();
}

bool LookAheadPool::LogAccesses(bool logs) {
  logs_accesses_ = false;
  if (!logs) return true;
  if (access_logs_.reserved() == 0 && !access_logs_.Reserve(count_ * kAccessLogBytes)) return false;
  logs_accesses_ = true;
  return true;
}

void LookAheadPool::Prewarm() {
  if (memory_.Use(memory_.reserved())) UseHugePages(memory_.start(), count_ * Stride());
}

bool LookAheadPool::IsInLookAhead(uint64_t address) const {
  return address - reinterpret_cast<uint64_t>(memory_.start()) < count_ * Stride();
}

LookAhead* LookAheadPool::Acquire() {
  uint64_t free = free_.load(std::memory_order_relaxed);
  while (free != 0) {
    const auto index = static_cast<unsigned>(__builtin_ctzll(free));
    if (free_.compare_exchange_weak(free, free & (free - 1), std::memory_order_acquire)) {
      LookAhead* made = Make(index);
      if (made != nullptr) made->SetAccessLog(AccessLog(index), kMaxAccesses);
      return made;
    }
  }
  return nullptr;
}

// A LookAhead is created in its memory when it is first acquired.
LookAhead* LookAheadPool::Make(unsigned index) {
  const uint64_t bit = uint64_t{1} << index;
  void* memory = memory_.start() + index * Stride();
  if (made_.load(std::memory_order_relaxed) & bit) return static_cast<LookAhead*>(memory);
  if (!memory_.Use((index + 1) * Stride())) {
    free_.fetch_or(bit, std::memory_order_release);
    return nullptr;
  }
  made_.fetch_or(bit, std::memory_order_relaxed);
  PopulatePages(memory, LookAhead::Size());
  return LookAhead::Create(memory, code_cache_);
}

// Returns nullptr if there is none.
RecordedAccess* LookAheadPool::AccessLog(unsigned index) {
  if (!logs_accesses_ || !access_logs_.Use((index + 1) * kAccessLogBytes)) return nullptr;
  return reinterpret_cast<RecordedAccess*>(access_logs_.start()) + size_t{index} * kMaxAccesses;
}

void LookAheadPool::Release(LookAhead* look_ahead) {
  const auto offset = static_cast<size_t>(reinterpret_cast<uint8_t*>(look_ahead) - memory_.start());
  free_.fetch_or(uint64_t{1} << (offset / Stride()), std::memory_order_release);
}

void LookAheadPool::CountWork(const LookAhead& look_ahead, ThreadSlot* slot) {
  slot->Add(Counter::kInstructions, look_ahead.stats().instructions);
  slot->Add(Counter::kDecoded, look_ahead.stats().decoded_instructions);
  slot->Add(Counter::kMissingPage, look_ahead.stats().missing_pages);
  slot->memory_use.Add(look_ahead.stats().memory_use);
}

}  // namespace hbbp::trace
