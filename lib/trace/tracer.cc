// What the worker does; tracer_signals.cc has what happens in signal handlers.
#include "trace/tracer.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>

#include "trace/code_cache.h"
#include "trace/large_memory.h"
#include "trace/native_stub.h"
#include "trace/raw_syscall.h"
#include "trace/signal_chain.h"
#include "trace/signal_context.h"
#include "trace/tracer_layout.h"

namespace hbbp::trace {
namespace {

constexpr size_t kCodeCacheBytes = 32 << 20;
constexpr size_t kNativeRegionBytes = 2 << 20;
constexpr uint32_t kMaxLookAheads = 64;
constexpr uint32_t kBuffersPerThread = 2;
constexpr uint32_t kFreeBursts = 64;  // that there is room for in free buffers
constexpr uint32_t kBuffersBeyondThreads =
    1 + kFreeBursts * (Tracer::kMaxBurstBranches + 1) / BurstBuffer::kCapacity;

// Only pages that are used take memory.
void* MapZeroed(size_t bytes) {
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return memory == MAP_FAILED ? nullptr : memory;
}

// A program that may not have much address space must not lose it to us.
uint32_t ChooseMaxThreads() {
  constexpr uint32_t kThreadsWhenShort = 64;
  rlimit limit;
  const bool is_short = ::getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
  return is_short ? kThreadsWhenShort : Tracer::kMaxThreads;
}

void Pause() {
  const timespec interval = {0, 100'000};
  ::nanosleep(&interval, nullptr);
}

uint64_t NowNs() {
  timespec now;
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

}  // namespace

const char* NameOf(Counter counter) {
  switch (counter) {
    case Counter::kSamples:
      return "samples";
    case Counter::kRegistersDisagree:
      return "registers-disagree";
    case Counter::kSignalWasBlocked:
      return "signal-was-blocked";
    case Counter::kSampleDuringBurst:
      return "sample-during-burst";
    case Counter::kNoFreeBuffer:
      return "no-free-buffer";
    case Counter::kNoFreeInterpreter:
      return "no-free-interpreter";
    case Counter::kStackTooSmall:
      return "stack-too-small";
    case Counter::kBreakpointLost:
      return "breakpoint-lost";
    case Counter::kHitInOtherFrame:
      return "hit-in-other-frame";
    case Counter::kHitElsewhere:
      return "hit-elsewhere";
    case Counter::kStrayTraps:
      return "stray-traps";
    case Counter::kNoDebugRegister:
      return "no-debug-register";
    case Counter::kBreakpointRefused:
      return "breakpoint-refused";
    case Counter::kTooManyBreakpoints:
      return "too-many-breakpoints";
    case Counter::kRestartableSequence:
      return "restartable-sequence";
    case Counter::kUnknownTarget:
      return "unknown-target";
    default:
      break;
  }
  if (counter < Counter::kFirstStopReason || counter >= Counter::kCount) return nullptr;
  const auto reason = static_cast<StopReason>(static_cast<int>(counter) -
                                              static_cast<int>(Counter::kFirstStopReason));
  const bool is_the_normal_end =
      reason == StopReason::kFull || reason == StopReason::kDynamicBranch;
  return is_the_normal_end ? nullptr : NameOf(reason);
}

Tracer& Tracer::Get() {
  // Constant-initialised and trivially destructible: handlers may come at any time.
  static constinit Tracer tracer;
  return tracer;
}

bool Tracer::MapMemory() {
  if (slots_ != nullptr) return true;
  max_threads_ = ChooseMaxThreads();
  auto* slots = static_cast<ThreadSlot*>(MapZeroed(max_threads_ * sizeof(ThreadSlot)));
  const uint32_t buffer_count = max_threads_ * kBuffersPerThread + kBuffersBeyondThreads;
  auto* buffers = static_cast<BurstBuffer*>(MapZeroed(buffer_count * sizeof(BurstBuffer)));
  const long cpus = ::sysconf(_SC_NPROCESSORS_ONLN);
  const uint32_t wanted = cpus < 1 ? 4 : static_cast<uint32_t>(cpus) * 2 + 2;
  const uint32_t look_ahead_count = wanted > kMaxLookAheads ? kMaxLookAheads : wanted;
  const size_t stride = LookAheadStride();
  auto* look_aheads = static_cast<uint8_t*>(MapLargeMemory(look_ahead_count * stride));
  NativeRegion* region = NativeRegion::Create(kNativeRegionBytes);
  code_cache_ = CodeCache::Create(kCodeCacheBytes, region);
  if (slots == nullptr || buffers == nullptr || look_aheads == nullptr || code_cache_ == nullptr) {
    return false;
  }
  has_native_region_ = region != nullptr;
  // Without them handlers run on the stack of the program.
  alternate_stacks_ = static_cast<uint8_t*>(MapZeroed(max_threads_ * kAlternateStackBytes));
  look_aheads_ = look_aheads;
  for (uint32_t i = 0; i < look_ahead_count; ++i) {
    LookAhead::Create(look_aheads_ + i * stride, code_cache_);
  }
  look_ahead_count_ = look_ahead_count;
  free_look_aheads_ = look_ahead_count == 64 ? ~uint64_t{0} : (uint64_t{1} << look_ahead_count) - 1;
  buffers_.Init(buffers, buffer_count);
  slots_ = slots;
  return true;
}

int Tracer::Open(const TracerConfig& config) {
  if (is_open_.exchange(true)) return EBUSY;
  PrepareSignalContext();
  int error_number = MapMemory() ? 0 : ENOMEM;
  if (error_number == 0) error_number = InstallSignalChain(&Filter, config.uses_real_time_signals);
  if (error_number != 0) {
    is_open_ = false;
    return error_number;
  }
  config_ = config;
  if (config_.burst_instructions == 0) {
    constexpr uint64_t kInstructionsPerBranch = 40;
    constexpr uint64_t kLeastInstructions = 2048;
    config_.burst_instructions =
        kLeastInstructions + config.burst_branches * kInstructionsPerBranch;
  }
  const uint32_t entries = kFreeBursts * (1 + config_.burst_branches);
  while (free_buffers_ < 1 + entries / BurstBuffer::kCapacity) {
    buffers_.AddFree();
    ++free_buffers_;
  }
  ++session_;
  for (uint64_t& sum : ended_counters_) sum = 0;
  for (uint32_t i = 0; i < used_slots_; ++i) {
    for (auto& counter : slots_[i].counters) counter.store(0, std::memory_order_relaxed);
  }
  return 0;
}

void Tracer::Close() { is_open_ = false; }

// A thread keeps its slot over sessions, because its alternate stack belongs to the slot.
uint32_t Tracer::AddThread(pid_t tid) {
  uint32_t free_slot = kNoSlot;
  const uint32_t used = used_slots_;
  for (uint32_t i = 0; i < used; ++i) {
    const uint32_t owner = slots_[i].tid.load(std::memory_order_relaxed);
    if (owner == static_cast<uint32_t>(tid) && slots_[i].ended_tid == 0) return i;
    if (owner == 0 && free_slot == kNoSlot) free_slot = i;
  }
  if (free_slot == kNoSlot) {
    if (used == max_threads_) return kNoSlot;
    free_slot = used;
    used_slots_ = used + 1;
    for (uint32_t i = 0; i < kBuffersPerThread; ++i) buffers_.AddFree();
  }
  slots_[free_slot].tid = static_cast<uint32_t>(tid);
  return free_slot;
}

void Tracer::RemoveThread(uint32_t index) {
  ThreadSlot& slot = slots_[index];
  const uint32_t buffer = slot.buffer;
  if (buffer != 0) {
    if (slot.is_waiting) {
      slot.Add(Counter::kBreakpointLost);
      EndBurst(&slot);
    }
    buffers_.PushFull(buffer - 1);
  }
  if (slot.look_ahead != nullptr) ReleaseLookAhead(slot.look_ahead);
  for (int i = 0; i < kCounters; ++i) {
    ended_counters_[i] += slot.counters[i].load(std::memory_order_relaxed);
    slot.counters[i].store(0, std::memory_order_relaxed);
  }
  // The buffer still names this slot, so its thread must stay known until the next Drain.
  slot.ended_tid = slot.tid;
  slot.buffer = 0;
  slot.in_handler = 0;
  slot.has_breakpoint = 0;
  slot.is_waiting = false;
  slot.look_ahead = nullptr;
  slot.breakpoint = {};
  if (buffer == 0) slot.tid = 0;
}

uint64_t Tracer::SignalData(SignalKind kind, uint32_t slot) const {
  return kSignalCookie | uint64_t{session_ & kSessionMask} << kSessionShift |
         uint64_t{kind} << kKindShift | slot;
}

uint64_t Tracer::SampleData(uint32_t slot) const { return SignalData(kSample, slot); }

void Tracer::MakeFaster() {
  if (is_faster_) return;
  is_faster_ = true;
  UseHugePages(look_aheads_, look_ahead_count_ * LookAheadStride());
  code_cache_->MakeFaster();
}

void Tracer::Enable() { enabled_.store(true); }

bool Tracer::Disable(int timeout_ms) {
  enabled_.store(false);
  const uint64_t deadline_ns = NowNs() + static_cast<uint64_t>(timeout_ms) * 1'000'000;
  const long pid = ::getpid();
  for (uint32_t i = 0; i < used_slots_; ++i) {
    if (slots_[i].tid == 0 || slots_[i].has_breakpoint.load() == 0) continue;
    siginfo_t info = {};
    info.si_signo = SIGTRAP;
    info.si_code = SI_QUEUE;
    SetSignalData(&info, SignalData(kCleanUp, i));
    RawSyscall(SYS_rt_tgsigqueueinfo, pid, slots_[i].tid.load(), SIGTRAP,
               reinterpret_cast<long>(&info));
  }
  for (uint32_t i = 0; i < used_slots_; ++i) {
    ThreadSlot& slot = slots_[i];
    while (slot.tid != 0 && (slot.in_handler.load() != 0 || slot.has_breakpoint.load() != 0)) {
      const bool has_ended = RawSyscall(SYS_tgkill, pid, slot.tid.load(), 0) == -ESRCH;
      if (has_ended) break;
      if (NowNs() >= deadline_ns) return false;
      Pause();
    }
  }
  return true;
}

void Tracer::DrainBuffer(BurstBuffer* buffer, BurstVisitor visit, void* visitor) {
  const uint32_t committed = buffer->committed.load(std::memory_order_acquire);
  const ThreadSlot& slot = slots_[buffer->slot];
  while (buffer->consumed < committed) {
    const BurstHeader& header = *buffer->HeaderAt(buffer->consumed);
    const uint32_t tid = slot.tid.load(std::memory_order_relaxed);
    const BurstView view = {tid, header.time_ns, buffer->entries + buffer->consumed + 1,
                            header.branches, header.end};
    visit(view, visitor);
    buffer->consumed += 1 + header.branches;
  }
}

void Tracer::DrainInto(bool take_unfinished, BurstVisitor visit, void* visitor) {
  const uint32_t used = used_slots_;
  // A buffer that its thread swaps meanwhile must not be overtaken by the one that follows it, so
  // only the buffers that were current before the full ones are looked at.
  for (uint32_t i = 0; i < used; ++i) slots_[i].seen_buffer = slots_[i].buffer;
  buffers_.TakeFull([&](uint32_t index) {
    DrainBuffer(buffers_.at(index), visit, visitor);
    buffers_.GiveBack(index);
  });
  for (uint32_t i = 0; i < used; ++i) {
    ThreadSlot& slot = slots_[i];
    if (take_unfinished && slot.is_waiting) EndBurst(&slot);
    const uint32_t current = slot.buffer;
    if (current != 0 && current == slot.seen_buffer) {
      DrainBuffer(buffers_.at(current - 1), visit, visitor);
    }
    if (slot.ended_tid != 0) {
      slot.ended_tid = 0;
      slot.tid = 0;
    }
  }
}

void Tracer::ReadCounters(uint64_t (&sums)[kCounters]) const {
  for (int i = 0; i < kCounters; ++i) sums[i] = ended_counters_[i];
  const uint32_t used = used_slots_;
  for (uint32_t slot = 0; slot < used; ++slot) {
    for (int i = 0; i < kCounters; ++i) {
      sums[i] += slots_[slot].counters[i].load(std::memory_order_relaxed);
    }
  }
}

// The memory stays mapped: the alternate stack of the thread that forked is in it. The child gets
// new memory when it opens a session of its own.
void Tracer::ForgetInChild() {
  enabled_ = false;
  is_open_ = false;
  slots_ = nullptr;
  used_slots_ = 0;
  free_buffers_ = 0;
  is_faster_ = false;
  ++session_;
}

}  // namespace hbbp::trace
