// What the worker does; tracer_signals.cc has what happens in signal handlers.
#include "trace/tracer.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>

#include "base/clock.h"
#include "trace/code_cache.h"
#include "trace/large_memory.h"
#include "trace/native_stub.h"
#include "trace/raw_syscall.h"
#include "trace/signal_chain.h"
#include "trace/signal_context.h"
#include "trace/signal_edge.h"
#include "trace/tracer_layout.h"

namespace hbbp::trace {
namespace {

constexpr size_t kCodeCacheBytes = 32 << 20;
constexpr size_t kNativeRegionBytes = 2 << 20;
constexpr uint32_t kMaxLookAheads = 64;
constexpr uint32_t kBuffersBeyondThreads =
    1 + Tracer::kBufferedBursts * (Tracer::kMaxBurstBranches + 1) / BurstBuffer::kCapacity;

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

}  // namespace

const char* NameOf(Counter counter) {
  switch (counter) {
    case Counter::kSamples:
      return "samples";
    case Counter::kRegistersDisagree:
      return "registers-disagree";
    case Counter::kOverBudget:
      return "over-budget";
    case Counter::kSignalWasBlocked:
      return "signal-was-blocked";
    case Counter::kSampleDuringBurst:
      return "sample-during-burst";
    case Counter::kNoFreeSlot:
      return "no-free-slot";
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
  SetSampleBudget(config.sample_budget_ns);
  if (config_.burst_instructions == 0) {
    constexpr uint64_t kInstructionsPerBranch = 40;
    constexpr uint64_t kLeastInstructions = 2048;
    config_.burst_instructions =
        kLeastInstructions + config.burst_branches * kInstructionsPerBranch;
  }
  const uint32_t entries = kBufferedBursts * (1 + config_.burst_branches);
  const uint32_t free_buffers = 1 + entries / BurstBuffer::kCapacity;
  if (free_buffers > free_buffers_) {
    buffers_.Allow(free_buffers - free_buffers_);
    free_buffers_ = free_buffers;
  }
  if (config_.keeps_handler_times && handler_times_ == nullptr) {
    handler_times_ = static_cast<HandlerTimes*>(MapZeroed(max_threads_ * sizeof(HandlerTimes)));
    config_.keeps_handler_times = handler_times_ != nullptr;
  }
  ++session_;
  FreeSlotsOfEnded();
  const auto forget = [](const BurstView&, void*) {};
  DrainInto(false, forget, nullptr);
  for (uint64_t& sum : ended_counters_) sum = 0;
  samples_without_slot_ = 0;
  for (uint32_t i = 0; i < used_slots_; ++i) {
    ThreadSlot& slot = slots_[i];
    slot.sampler = 0;
    slot.budget_ns = 0;
    slot.skipped = 0;
    for (auto& counter : slot.counters) counter.store(0, std::memory_order_relaxed);
  }
  return 0;
}

void Tracer::Close() { is_open_ = false; }

bool Tracer::HasEnded(uint32_t slot) const {
  return RawSyscall(SYS_tgkill, RawSyscall(SYS_getpid), owners_[slot].load(), 0) == -ESRCH;
}

void Tracer::FreeSlotsOfEnded() {
  const uint32_t used = used_slots_;
  for (uint32_t i = 0; i < used; ++i) {
    const uint32_t owner = owners_[i];
    const bool may_have_ended = owner != 0 && (owner & kEndedBit) == 0;
    if (may_have_ended && HasEnded(i)) RemoveThread(i);
  }
}

void Tracer::RemoveThread(uint32_t index) {
  ThreadSlot& slot = slots_[index];
  const uint32_t buffer = slot.buffer;
  if (slot.breakpoint.armed()) LeaveDescriptor(slot.breakpoint.TakeDescriptor());
  if (buffer != 0) {
    if (slot.is_waiting) {
      slot.Add(Counter::kBreakpointLost);
      FinishBurst(&slot);
    }
    buffers_.PushFull(buffer - 1);
  }
  if (slot.look_ahead != nullptr) ReleaseLookAhead(slot.look_ahead);
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
  slot.is_warm = false;
  slot.budget_ns = 0;
  slot.skipped = 0;
  // The buffer still names this slot, so its thread must stay known until the next Drain.
  if (buffer != 0) {
    owners_[index].fetch_or(kEndedBit);
  } else {
    owners_[index] = 0;
  }
}

// More than there is room for, between two samples of the process, stay open until it ends.
void Tracer::LeaveDescriptor(int descriptor) {
  for (std::atomic<int>& left : left_descriptors_) {
    int none = 0;
    if (!left.compare_exchange_strong(none, descriptor + 1)) continue;
    has_left_descriptors_ = true;
    return;
  }
}

uint64_t Tracer::SignalData(SignalKind kind, uint32_t number) const {
  return kSignalCookie | uint64_t{session_ & kSessionMask} << kSessionShift |
         uint64_t{kind} << kKindShift | number;
}

bool Tracer::WasInHandler(uint32_t tid, uint64_t time_ns, uint64_t ip) const {
  if (!config_.keeps_handler_times) return false;
  if (IsAtSignalEdge(ip)) return true;
  const uint32_t used = used_slots_;
  for (uint32_t i = 0; i < used; ++i) {
    if ((owners_[i].load(std::memory_order_relaxed) & ~kEndedBit) == tid) {
      return handler_times_[i].Contain(time_ns);
    }
  }
  return false;
}

uint64_t Tracer::SampleData(uint32_t sampler) const { return SignalData(kSample, sampler); }

void Tracer::MakeFaster() {
  if (is_faster_) return;
  is_faster_ = true;
  UseHugePages(look_aheads_, look_ahead_count_ * LookAheadStride());
  code_cache_->MakeFaster();
}

void Tracer::Enable() { enabled_.store(true); }

// False if there is no such thread.
bool Tracer::SendCleanUp(uint32_t slot) {
  siginfo_t info = {};
  info.si_signo = SIGTRAP;
  info.si_code = SI_QUEUE;
  SetSignalData(&info, SignalData(kCleanUp, slot));
  return RawSyscall(SYS_rt_tgsigqueueinfo, RawSyscall(SYS_getpid), owners_[slot].load(), SIGTRAP,
                    reinterpret_cast<long>(&info)) == 0;
}

bool Tracer::Disable(int timeout_ms) {
  enabled_.store(false);
  FreeSlotsOfEnded();
  const uint64_t deadline_ns =
      ClockNs(CLOCK_MONOTONIC) + static_cast<uint64_t>(timeout_ms) * 1'000'000;
  const uint32_t used = used_slots_;
  const auto is_alive = [this](uint32_t i) {
    return owners_[i] != 0 && (owners_[i] & kEndedBit) == 0;
  };
  bool must_close_left = has_left_descriptors_;
  for (uint32_t i = 0; i < used; ++i) {
    if (!is_alive(i) || (slots_[i].has_breakpoint.load() == 0 && !must_close_left)) continue;
    if (SendCleanUp(i)) must_close_left = false;
  }
  for (uint32_t i = 0; i < used; ++i) {
    ThreadSlot& slot = slots_[i];
    while (is_alive(i) && (slot.in_handler.load() != 0 || slot.has_breakpoint.load() != 0)) {
      if (HasEnded(i)) break;
      if (ClockNs(CLOCK_MONOTONIC) >= deadline_ns) return false;
      Pause();
    }
  }
  return true;
}

void Tracer::DrainBuffer(BurstBuffer* buffer, BurstVisitor visit, void* visitor) {
  const uint32_t committed = buffer->committed.load(std::memory_order_acquire);
  const uint32_t tid = owners_[buffer->slot].load(std::memory_order_relaxed) & ~kEndedBit;
  while (buffer->consumed < committed) {
    const BurstHeader& header = *buffer->HeaderAt(buffer->consumed);
    const BurstView view = {tid,
                            header.time_ns,
                            header.periods,
                            buffer->entries + buffer->consumed + 1,
                            header.branches,
                            header.end};
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
    if (take_unfinished && slot.is_waiting) FinishBurst(&slot);
    const uint32_t current = slot.buffer;
    if (current != 0 && current == slot.seen_buffer) {
      DrainBuffer(buffers_.at(current - 1), visit, visitor);
    }
    if (owners_[i] & kEndedBit) owners_[i] = 0;
  }
}

void Tracer::ReadCounters(uint64_t (&sums)[kCounters]) const {
  for (int i = 0; i < kCounters; ++i) sums[i] = ended_counters_[i];
  sums[static_cast<int>(Counter::kNoFreeSlot)] = samples_without_slot_;
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
  handler_times_ = nullptr;
  config_.keeps_handler_times = false;
  for (uint32_t i = 0; i < used_slots_; ++i) owners_[i] = 0;
  used_slots_ = 0;
  for (std::atomic<int>& left : left_descriptors_) left = 0;
  has_left_descriptors_ = false;
  free_buffers_ = 0;
  is_faster_ = false;
  ++session_;
}

}  // namespace hbbp::trace
