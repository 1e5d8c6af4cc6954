// Reserve and Release are for the worker, as is Free; Find and Claim, by which a handler gets its
// slot, search the owners. InstallAlternateStack gives a thread the stack of its slot, unless
// another thread has freed that.
#include "trace/thread_slots.h"

#include <sys/syscall.h>

#include <cerrno>
#include <new>

#include "base/raw_syscall.h"
#include "trace/program_memory.h"
#include "trace/signal_chain.h"

namespace hbbp::trace {
namespace {

constexpr size_t kAlternateStackBytes = 32 * 1024;
constexpr size_t kUsableStackBytes = kAlternateStackBytes - 64;
constexpr uint64_t kStackMark = 0x7c1d'e5a9'3b60'f482;
// So many threads can start between two calls of GrowAhead without a system call in a handler.
constexpr uint32_t kThreadsAhead = 8;

}  // namespace

bool ThreadSlots::Reserve(uint32_t max_threads) {
  new (&slot_memory_) GrowingMemory();
  new (&alternate_stacks_) GrowingMemory();
  max_threads_ = max_threads;
  if (!slot_memory_.Reserve(max_threads * sizeof(ThreadSlot)) || !MayUse(0)) return false;
  // Without alternate stacks handlers run on the stack of the program.
  (void)alternate_stacks_.Reserve(max_threads * kAlternateStackBytes);
  slots_ = reinterpret_cast<ThreadSlot*>(slot_memory_.start());
  return true;
}

void ThreadSlots::Release() {
  slots_ = nullptr;
  slot_memory_.Release();
  alternate_stacks_.Release();
}

bool ThreadSlots::ReserveHandlerTimes() {
  if (handler_times_ != nullptr) return true;
  if (!handler_times_memory_.Reserve(max_threads_ * sizeof(HandlerTimes)) ||
      !handler_times_memory_.Use((used_ + 1) * sizeof(HandlerTimes))) {
    return false;
  }
  handler_times_ = reinterpret_cast<HandlerTimes*>(handler_times_memory_.start());
  return true;
}

// Returns whether the slot and its memory may be used.
bool ThreadSlots::MayUse(uint32_t index) {
  const size_t count = size_t{index} + 1;
  return slot_memory_.Use(count * sizeof(ThreadSlot)) &&
         (handler_times_ == nullptr || handler_times_memory_.Use(count * sizeof(HandlerTimes)));
}

void ThreadSlots::GrowAhead() {
  const uint32_t threads = used_ + kThreadsAhead;
  if (threads > max_threads_) return;
  (void)MayUse(threads - 1);
  (void)alternate_stacks_.Use(threads * kAlternateStackBytes);
}

void ThreadSlots::Shrink(uint32_t threads) {
  slot_memory_.Shrink(threads * sizeof(ThreadSlot));
  alternate_stacks_.Shrink(threads * kAlternateStackBytes);
  handler_times_memory_.Shrink(threads * sizeof(HandlerTimes));
}

bool ThreadSlots::Owns(uint64_t address) const {
  return slot_memory_.Contains(address) || alternate_stacks_.Contains(address) ||
         handler_times_memory_.Contains(address);
}

uint32_t ThreadSlots::CountThreads() const {
  const uint32_t used = used_.load();
  uint32_t threads = 0;
  for (uint32_t i = 0; i < used; ++i) threads += owners_[i].load() != 0;
  return threads;
}

HBBP_SIGNAL_EDGE ThreadSlot* ThreadSlots::Find(uint32_t tid) {
  const uint32_t used = slots_ == nullptr ? 0 : used_.load();
  for (uint32_t i = 0; i < used; ++i) {
    if (owners_[i].load(std::memory_order_relaxed) == tid) return &slots_[i];
  }
  return nullptr;
}

HBBP_SIGNAL_EDGE ThreadSlot* ThreadSlots::Claim(uint32_t tid, bool* is_new) {
  *is_new = false;
  ThreadSlot* known = Find(tid);
  if (known != nullptr) return known;
  for (uint32_t i = 0; i < max_threads_ && MayUse(i); ++i) {
    uint32_t expected = 0;
    if (!owners_[i].compare_exchange_strong(expected, tid)) continue;
    uint32_t used = used_.load();
    *is_new = used <= i;
    while (used <= i && !used_.compare_exchange_weak(used, i + 1)) {
    }
    return &slots_[i];
  }
  samples_without_slot_.fetch_add(1, std::memory_order_relaxed);
  return nullptr;
}

void ThreadSlots::InstallAlternateStack(ThreadSlot* slot, ucontext_t* context) {
  const size_t offset = IndexOf(slot) * kAlternateStackBytes;
  if ((context->uc_stack.ss_flags & SS_DISABLE) == 0) return;
  if (!alternate_stacks_.Use(offset + kAlternateStackBytes)) return;
  uint8_t* const stack = alternate_stacks_.start() + offset;
  if (!IsStackOfSlot(slot, stack + kUsableStackBytes)) return;
  context->uc_stack.ss_sp = stack;
  context->uc_stack.ss_size = kUsableStackBytes;
  context->uc_stack.ss_flags = 0;
}

// A thread before may have freed the stack, as threads do with AddressSanitizer at their end with
// what sigaltstack returns, and the memory may be the program's by now. `mark` is behind the stack.
bool ThreadSlots::IsStackOfSlot(ThreadSlot* slot, uint8_t* mark) {
  if (!slot->has_marked_stack) {
    __builtin_memcpy(mark, &kStackMark, sizeof(kStackMark));
    slot->has_marked_stack = true;
    return true;
  }
  uint64_t found = 0;
  return ReadProgramMemory(reinterpret_cast<uint64_t>(mark), &found, sizeof(found)) &&
         found == kStackMark;
}

bool ThreadSlots::HasEnded(uint32_t index) const {
  return RawSyscall(SYS_tgkill, RawSyscall(SYS_getpid), Thread(index), 0) == -ESRCH;
}

void ThreadSlots::Free(uint32_t index, bool has_bursts) {
  ThreadSlot& slot = slots_[index];
  for (int i = 0; i < kCounters; ++i) {
    ended_counters_[i] += slot.counters[i].load(std::memory_order_relaxed);
    slot.counters[i].store(0, std::memory_order_relaxed);
  }
  slot.buffer = 0;
  slot.in_handler = 0;
  slot.has_breakpoint = 0;
  slot.is_waiting = false;
  slot.look_ahead = nullptr;
  slot.sampler = 0;
  slot.foreign_samples = 0;
  slot.had_first_sample = false;
  slot.breakpoint = Breakpoint();
  slot.is_warm = false;
  slot.budget_ns = 0;
  slot.budget_until_ns = 0;
  slot.handlers_ns = slot.earlier_handlers_ns = 0;
  slot.skipped = slot.samples_to_burst = 0;
  if (has_bursts) {
    owners_[index].fetch_or(kEndedBit);
  } else {
    owners_[index] = 0;
  }
}

void ThreadSlots::FreeDelivered() {
  const uint32_t used = used_;
  for (uint32_t i = 0; i < used; ++i) {
    if (owners_[i] & kEndedBit) owners_[i] = 0;
  }
}

bool ThreadSlots::WasInHandler(uint32_t tid, uint64_t time_ns) const {
  const uint32_t used = used_;
  for (uint32_t i = 0; i < used; ++i) {
    if (Thread(i) == tid) return handler_times_[i].Contain(time_ns);
  }
  return false;
}

void ThreadSlots::ReadCounters(uint64_t (&sums)[kCounters]) const {
  for (int i = 0; i < kCounters; ++i) sums[i] = ended_counters_[i];
  sums[static_cast<int>(Counter::kNoFreeSlot)] = samples_without_slot_;
  const uint32_t used = used_;
  for (uint32_t slot = 0; slot < used; ++slot) {
    for (int i = 0; i < kCounters; ++i) {
      sums[i] += slots_[slot].counters[i].load(std::memory_order_relaxed);
    }
  }
}

void ThreadSlots::StartSession() {
  for (uint64_t& sum : ended_counters_) sum = 0;
  samples_without_slot_ = 0;
  for (uint32_t i = 0; i < used_; ++i) {
    ThreadSlot& slot = slots_[i];
    slot.sampler = 0;
    slot.had_first_sample = false;
    if (!slot.breakpoint.armed()) slot.breakpoint.ResetAddresses();
    slot.budget_ns = 0;
    slot.budget_until_ns = 0;
    slot.handlers_ns = slot.earlier_handlers_ns = 0;
    slot.skipped = slot.samples_to_burst = 0;
    for (auto& counter : slot.counters) counter.store(0, std::memory_order_relaxed);
  }
}

void ThreadSlots::ResetInChild() {
  slot_memory_.ShrinkInChild();
  alternate_stacks_.ShrinkInChild();
  handler_times_memory_.ShrinkInChild();
  slots_ = nullptr;
  handler_times_ = nullptr;
  for (uint32_t i = 0; i < used_; ++i) owners_[i] = 0;
  used_ = 0;
}

}  // namespace hbbp::trace
