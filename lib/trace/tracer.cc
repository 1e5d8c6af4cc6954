// What the worker does; tracer_signals.cc has what happens in signal handlers.
#include "trace/tracer.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <new>

#include "base/clock.h"
#include "base/raw_syscall.h"
#include "trace/interpreter/code_cache.h"
#include "trace/interpreter/large_memory.h"
#include "trace/native/native_stub.h"
#include "trace/native/signal_context.h"
#include "trace/signal_chain.h"
#include "trace/signal_edge.h"
#include "trace/tracer_layout.h"

namespace hbbp::trace {
namespace {

constexpr size_t kCodeCacheBytes = 32 << 20;
constexpr size_t kCodeCacheBytesWhenShort = 4 << 20;
constexpr size_t kNativeRegionBytes = 2 << 20;
constexpr uint32_t kMaxLookAheads = 64;
constexpr uint32_t kBuffersBeyondThreads = 1 + Tracer::kBufferedBursts *
                                                   (Tracer::kMaxBurstBranches + kHeaderEntries) /
                                                   BurstBuffer::kCapacity;

constexpr uint32_t kThreadsWhenShort = 64;
constexpr uint32_t kBuffersWhenShort = 128;
// What may come between two calls of Drain without a system call in a handler.
constexpr uint32_t kThreadsAhead = 8;
constexpr uint32_t kBuffersAhead = 16;

// A program that may not have much address space must not lose it to us.
bool AddressSpaceIsShort() {
  rlimit limit;
  return ::getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
}

// 0 if the thread does not sleep in a page fault.
uint64_t StackPointerInFault(uint32_t tid) {
  // proc(5): "-1 0x7f... 0x55...", the stack pointer and the ip, outside of system calls.
  constexpr char kOutsideOfSystemCalls[] = {'-', '1', ' ', '0', 'x'};
  constexpr char kBefore[] = "/proc/self/task/", kBehind[] = "/syscall";
  char digits[10];
  size_t digit_count = 0;
  for (; tid != 0; tid /= 10) digits[digit_count++] = static_cast<char>('0' + tid % 10);
  char path[sizeof(kBefore) + sizeof(digits) + sizeof(kBehind)];
  __builtin_memcpy(path, kBefore, sizeof(kBefore));
  char* end = path + sizeof(kBefore) - 1;
  while (digit_count > 0) *end++ = digits[--digit_count];
  __builtin_memcpy(end, kBehind, sizeof(kBehind));
  const long file = RawSyscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  char text[128] = {};
  const long size = RawSyscall(SYS_read, file, text, sizeof(text));
  RawSyscall(SYS_close, file);
  constexpr long kPrefix = sizeof(kOutsideOfSystemCalls);
  if (size <= kPrefix || __builtin_memcmp(text, kOutsideOfSystemCalls, kPrefix) != 0) return 0;
  uint64_t stack_pointer = 0;
  for (long i = kPrefix; i < size && text[i] != ' '; ++i) {
    const auto digit = static_cast<unsigned char>(text[i]);
    stack_pointer = stack_pointer * 16 + (digit <= '9' ? digit - '0' : digit - 'a' + 10u);
  }
  return stack_pointer;
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
    case Counter::kDisagreementReadsNotKept:
      return "disagreement-reads-not-kept";
    case Counter::kDisagreementMemoryChanged:
      return "disagreement-memory-changed";
    case Counter::kDisagreementCodeChanged:
      return "disagreement-code-changed";
    case Counter::kDisagreementSignal:
      return "disagreement-signal";
    case Counter::kDisagreementAtomic:
      return "disagreement-atomic";
    case Counter::kOverBudget:
      return "over-budget";
    case Counter::kSignalWasBlocked:
      return "signal-was-blocked";
    case Counter::kInKernel:
      return "in-kernel";
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
    case Counter::kInOwnCode:
      return "in-own-code";
    case Counter::kHitElsewhere:
      return "hit-elsewhere";
    case Counter::kStrayTraps:
      return "stray-traps";
    case Counter::kNoDebugRegister:
      return "no-debug-register";
    case Counter::kNoDescriptor:
      return "no-descriptor";
    case Counter::kBreakpointRefused:
      return "breakpoint-refused";
    case Counter::kTooManyBreakpoints:
      return "too-many-breakpoints";
    case Counter::kMissingPage:
      return "missing-page";
    case Counter::kInterruptedRead:
      return "interrupted-read";
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

bool Tracer::ReserveTables() {
  const bool is_short = AddressSpaceIsShort();
  max_threads_ = is_short ? kThreadsWhenShort : kMaxThreads;
  const uint32_t buffer_count =
      max_threads_ * kBuffersPerThread + (is_short ? kBuffersWhenShort : kBuffersBeyondThreads);
  const long cpus = ::sysconf(_SC_NPROCESSORS_ONLN);
  const uint32_t wanted = cpus < 1 ? 4 : static_cast<uint32_t>(cpus) * 2 + 2;
  look_ahead_count_ = wanted > kMaxLookAheads ? kMaxLookAheads : wanted;
  NativeRegion* region = NativeRegion::Create(kNativeRegionBytes);
  has_native_region_ = region != nullptr;
  code_cache_ = CodeCache::Create(is_short ? kCodeCacheBytesWhenShort : kCodeCacheBytes, region);
  const bool has_all = code_cache_ != nullptr &&
                       slot_memory_.Reserve(max_threads_ * sizeof(ThreadSlot)) && UseSlot(0) &&
                       buffer_memory_.Reserve(buffer_count * sizeof(BurstBuffer)) &&
                       look_aheads_.Reserve(look_ahead_count_ * LookAheadStride());
  if (!has_all) {
    CodeCache::Destroy(code_cache_);
    code_cache_ = nullptr;
    NativeRegion::Destroy(region);
    return false;
  }
  buffers_.Init(&buffer_memory_, buffer_count);
  // Without them handlers run on the stack of the program.
  (void)alternate_stacks_.Reserve(max_threads_ * kAlternateStackBytes);
  return true;
}

bool Tracer::MapMemory() {
  if (slots_ != nullptr) return true;
  GrowingMemory* const tables[] = {&slot_memory_, &buffer_memory_, &look_aheads_,
                                   &alternate_stacks_};
  for (GrowingMemory* table : tables) new (table) GrowingMemory();
  if (!ReserveTables()) {
    for (GrowingMemory* table : tables) table->Release();
    return false;
  }
  made_look_aheads_ = 0;
  free_look_aheads_ =
      look_ahead_count_ == 64 ? ~uint64_t{0} : (uint64_t{1} << look_ahead_count_) - 1;
  slots_ = reinterpret_cast<ThreadSlot*>(slot_memory_.start());
  return true;
}

// May the slot be used, and what goes with it?
bool Tracer::UseSlot(uint32_t index) {
  const size_t count = size_t{index} + 1;
  return slot_memory_.Use(count * sizeof(ThreadSlot)) &&
         (handler_times_ == nullptr || handler_times_memory_.Use(count * sizeof(HandlerTimes)));
}

// What cannot be had now is asked for again by the handler that needs it.
void Tracer::GrowAhead() {
  const uint32_t threads = used_slots_ + kThreadsAhead;
  if (threads <= max_threads_) {
    (void)UseSlot(threads - 1);
    (void)alternate_stacks_.Use(threads * kAlternateStackBytes);
  }
  const uint32_t buffers = buffers_.begun() + kBuffersAhead;
  (void)buffer_memory_.Use(buffers * sizeof(BurstBuffer));
  code_cache_->GrowAhead();
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
  const uint32_t entries = kBufferedBursts * (kHeaderEntries + config_.burst_branches);
  const uint32_t free_buffers = 1 + entries / BurstBuffer::kCapacity;
  if (free_buffers > free_buffers_) {
    buffers_.Allow(free_buffers - free_buffers_);
    free_buffers_ = free_buffers;
  }
  if (config_.keeps_handler_times && handler_times_ == nullptr) {
    const bool has_times = handler_times_memory_.Reserve(max_threads_ * sizeof(HandlerTimes)) &&
                           handler_times_memory_.Use((used_slots_ + 1) * sizeof(HandlerTimes));
    if (has_times) handler_times_ = reinterpret_cast<HandlerTimes*>(handler_times_memory_.start());
    config_.keeps_handler_times = has_times;
  }
  GrowAhead();
  ++session_;
  failure_ = TracerFailure::kNone;
  FreeSlotsOfEnded();
  const auto forget = [](const BurstView&, void*) {};
  DrainInto(false, forget, nullptr);
  for (uint64_t& sum : ended_counters_) sum = 0;
  disagreement_log_.Reset();
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

bool Tracer::Owns(uint64_t address) const {
  const GrowingMemory* const tables[] = {&slot_memory_, &buffer_memory_, &look_aheads_,
                                         &alternate_stacks_, &handler_times_memory_};
  for (const GrowingMemory* table : tables) {
    if (table->Contains(address)) return true;
  }
  return code_cache_ != nullptr && code_cache_->Owns(address);
}

void Tracer::MakeFaster() {
  if (is_faster_) return;
  is_faster_ = true;
  const size_t look_ahead_bytes = look_ahead_count_ * LookAheadStride();
  if (look_aheads_.Use(look_aheads_.reserved()))
    UseHugePages(look_aheads_.start(), look_ahead_bytes);
  code_cache_->MakeFaster();
}

void Tracer::Enable() { enabled_.store(true); }

// False if there is no such thread.
bool Tracer::Send(int signal, SignalKind kind, uint32_t slot) {
  siginfo_t info = {};
  info.si_signo = signal;
  info.si_code = SI_QUEUE;
  SetSignalData(&info, SignalData(kind, slot));
  return RawSyscall(SYS_rt_tgsigqueueinfo, RawSyscall(SYS_getpid), owners_[slot].load(), signal,
                    reinterpret_cast<long>(&info)) == 0;
}

// Nothing here allocates: the thread may hold the lock of the allocator.
bool Tracer::InterruptBlockedReads() {
  // Other pages come late as well, and by themselves.
  constexpr uint32_t kMaxInterruptedReads = 3;
  const size_t look_ahead_bytes = look_ahead_count_ * LookAheadStride();
  const uint32_t used = used_slots_;
  const uint32_t interrupted_before = interrupted_reads_;
  for (uint32_t i = 0; i < used; ++i) {
    const uint32_t owner = owners_[i];
    if (slots_[i].in_handler.load() == 0 || owner == 0 || (owner & kEndedBit) != 0) continue;
    const uint64_t stack_pointer = StackPointerInFault(owner);
    if (stack_pointer - reinterpret_cast<uint64_t>(look_aheads_.start()) >= look_ahead_bytes) {
      continue;
    }
    if (!Send(SIGSEGV, kInterrupt, i)) continue;
    ++ended_counters_[static_cast<int>(Counter::kInterruptedRead)];
    if (++interrupted_reads_ == kMaxInterruptedReads) code_cache_->SetReadsMayBlock();
  }
  return interrupted_reads_ != interrupted_before;
}

bool Tracer::Disable(int timeout_ms) {
  enabled_.store(false);
  // Handlers take nothing away.
  if (failure_.load() == TracerFailure::kSystemCallRefused) return false;
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
    if (Send(SIGTRAP, kCleanUp, i)) must_close_left = false;
  }
  for (uint32_t i = 0; i < used; ++i) {
    ThreadSlot& slot = slots_[i];
    while (is_alive(i) && (slot.in_handler.load() != 0 || slot.has_breakpoint.load() != 0)) {
      if (HasEnded(i)) break;
      if (ClockNs(CLOCK_MONOTONIC) >= deadline_ns) return false;
      (void)InterruptBlockedReads();
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
                            header.instructions,
                            buffer->entries + buffer->consumed + kHeaderEntries,
                            header.branches,
                            header.end};
    visit(view, visitor);
    buffer->consumed += kHeaderEntries + header.branches;
  }
}

void Tracer::DrainInto(bool take_unfinished, BurstVisitor visit, void* visitor) {
  GrowAhead();
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
  others_store_ = false;
  Breakpoint::ForgetInChild();
  ++session_;
}

}  // namespace hbbp::trace
