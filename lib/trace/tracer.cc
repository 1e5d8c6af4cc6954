// The first part has the functions of the worker, from Open to Close; the second those of signal
// handlers. A handler identifies its signal and the slot of its thread (Filter to ClaimSlot), is
// timed (Handle), and begins or continues the walk of the session's mode (OnSample, OnBreakpoint).
// The end of the walk decides about the burst (OnWalkEnd).
//
// These handlers are not interrupted by another signal of their thread, except a fault of the
// interpreter, which RecoverFromFault ends.
#include "trace/tracer.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>

#include "base/clock.h"
#include "base/raw_syscall.h"
#include "trace/interpreter/code_cache.h"
#include "trace/native/native_stub.h"
#include "trace/native/signal_context.h"
#include "trace/program_memory.h"
#include "trace/raw_clock.h"
#include "trace/signal_chain.h"

namespace hbbp::trace {
namespace {

constexpr size_t kCodeCacheBytes = 32 << 20;
constexpr size_t kCodeCacheBytesWhenShort = 4 << 20;
constexpr size_t kNativeRegionBytes = 2 << 20;
constexpr uint32_t kThreadsWhenShort = 64;
// Of so much, our tables take a small part.
constexpr uint64_t kAmpleAddressSpace = uint64_t{8} << 30;

constexpr int kTrapPerf = 6;                // TRAP_PERF
constexpr uint32_t kPerfSignalAsync = 1;    // TRAP_PERF_FLAG_ASYNC
constexpr int kTrapHardwareBreakpoint = 4;  // TRAP_HWBKPT
// A signal handler of the program that runs the same loop would stop at each iteration. A handler
// of the library that passes the breakpoint would be interrupted by the hit as soon as it returns,
// and pass it again.
constexpr uint32_t kMaxForeignHits = 8;
// Look-ahead has a stack of its own.
constexpr uint64_t kMinStackBytesForLookAhead = 2 * 1024;
constexpr uint64_t kMinStackBytes = 12 * 1024;
// After so many samples of another sampler a thread takes that for its own.
constexpr uint32_t kForeignSamples = 3;
// A thread may save the budget of at most this CPU time.
constexpr uint64_t kMaxSavedNs = 200'000'000;

bool IsShort(uint64_t address_space_bytes) { return address_space_bytes < kAmpleAddressSpace; }

// Returns whether the program's address space is limited, so that the tracer must not take much of
// it.
bool AddressSpaceIsShort() {
  rlimit limit;
  return ::getrlimit(RLIMIT_AS, &limit) == 0 && IsShort(limit.rlim_cur);
}

// Returns 0 if the thread does not sleep in a page fault.
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

// Counts the CPU time of its lifetime, so that a handler that waits for a CPU costs nothing.
class HandlerClock {
 public:
  explicit HandlerClock(ThreadSlot* slot)
      : slot_(slot), is_charged_(slot->is_warm), begin_ns_(RawClockNs(CLOCK_THREAD_CPUTIME_ID)) {
    slot->handler_begin_ns = begin_ns_;
  }
  ~HandlerClock() {
    const uint64_t spent_ns = RawClockNs(CLOCK_THREAD_CPUTIME_ID) - begin_ns_;
    slot_->handlers_ns += spent_ns;
    slot_->Add(Counter::kHandlerNs, spent_ns);
    if (is_charged_) slot_->budget_ns -= static_cast<int64_t>(spent_ns);
  }
  HandlerClock(const HandlerClock&) = delete;
  HandlerClock& operator=(const HandlerClock&) = delete;

 private:
  ThreadSlot* slot_;
  bool is_charged_;
  uint64_t begin_ns_;
};

// Returns whether the handler runs on an alternate stack of the program that is too small.
bool StackIsTooSmall(const ucontext_t& context, uint64_t min_bytes) {
  if (context.uc_stack.ss_flags & SS_DISABLE) return false;
  const auto here = reinterpret_cast<uint64_t>(__builtin_frame_address(0));
  const auto lowest = reinterpret_cast<uint64_t>(context.uc_stack.ss_sp);
  const bool is_on_it = here - lowest < context.uc_stack.ss_size;
  return is_on_it && here - lowest < min_bytes;
}

bool WasDelayed(const siginfo_t& info) {
  uint32_t flags;
  __builtin_memcpy(&flags, reinterpret_cast<const char*>(&info) + kPerfFlagsOffset, sizeof(flags));
  return (flags & kPerfSignalAsync) != 0;
}

// Perf events exclude the kernel. A timer that expires in the kernel sends its signal at the end of
// the system call, which leaves the address of the next instruction in rcx.
bool WasInKernel(const siginfo_t& info, const ucontext_t& context) {
  return info.si_code == SI_TIMER &&
         context.uc_mcontext.gregs[REG_RCX] == context.uc_mcontext.gregs[REG_RIP];
}

// A timer that expires again while its signal is pending sends no second one. Timers of CPU time
// expire at ticks of the kernel, for all periods that have passed since the last one.
uint32_t ElapsedPeriods(const siginfo_t& info) {
  return info.si_code == SI_TIMER && info.si_overrun > 0
             ? static_cast<uint32_t>(info.si_overrun) + 1
             : 1;
}

// A thread that started while samplers were attached may have inherited a sampler and got another
// one.
HBBP_SIGNAL_EDGE bool IsOwnSample(ThreadSlot* slot, uint32_t sampler) {
  if (slot->sampler == 0 || ++slot->foreign_samples == kForeignSamples) {
    slot->sampler = sampler;
    slot->had_first_sample = false;
  }
  if (slot->sampler != sampler) return false;
  slot->foreign_samples = 0;
  return true;
}

// Returns whether it is a debug exception, and none that a program which single-steps itself
// awaits.
bool MayBeStray(const siginfo_t& info, const ucontext_t& context) {
  constexpr greg_t kTrapFlag = 1 << 8;
  const bool is_exception = info.si_code == TRAP_BRKPT || info.si_code == TRAP_TRACE ||
                            info.si_code == kTrapHardwareBreakpoint;
  return is_exception && (context.uc_mcontext.gregs[REG_EFL] & kTrapFlag) == 0;
}

// Otherwise a step that the program makes ends it.
bool ProgramHandlesTraps() {
  const struct sigaction action = ProgramAction(SIGTRAP);
  return action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN;
}

// Many other instructions end with that byte, for example `cmp %esi, %ecx` in front of a branch.
bool MayFollowInt1(uint64_t ip) {
  constexpr uint8_t kInt1 = 0xf1;
  uint8_t before = 0;
  return ReadProgramMemory(ip - 1, &before, 1) && before == kInt1;
}

// The CPU time of a sample, in nanoseconds, is as good as random, once its bits are mixed.
constexpr uint64_t kMixer = 0x9e3779b97f4a7c15;

// Draws from 0 to count - 1.
uint32_t DrawBelow(uint32_t count, uint64_t cpu_ns) {
  return static_cast<uint32_t>(cpu_ns * kMixer >> 32) % count;
}

// Is not correlated with what DrawBelow draws of the same time below a small count.
bool DrawBit(uint64_t cpu_ns) { return (cpu_ns * kMixer >> 63) != 0; }

// Draws from mean - mean / 4 to mean + mean / 4.
uint32_t DrawAround(uint32_t mean, uint64_t cpu_ns) {
  const uint32_t reach = mean / 4;
  return mean - reach + DrawBelow(2 * reach + 1, cpu_ns);
}

}  // namespace

Tracer& Tracer::Get() {
  // It is constant-initialised and trivially destructible, because handlers may run at any time.
  static constinit Tracer tracer;
  return tracer;
}

bool Tracer::MapMemory() {
  if (slots_.are_reserved()) return true;
  const bool is_short = AddressSpaceIsShort();
  const uint32_t max_threads = is_short ? kThreadsWhenShort : kMaxThreads;
  NativeRegion* region = NativeRegion::Create(kNativeRegionBytes);
  has_native_region_ = region != nullptr;
  code_cache_ = CodeCache::Create(is_short ? kCodeCacheBytesWhenShort : kCodeCacheBytes, region);
  const bool has_slots = slots_.Reserve(max_threads);
  const bool has_buffers = recorder_.Reserve(max_threads, is_short);
  const bool has_look_aheads = look_aheads_.Reserve(code_cache_);
  if (code_cache_ != nullptr && has_slots && has_buffers && has_look_aheads) return true;
  slots_.Release();
  recorder_.Release();
  look_aheads_.Unmap();
  CodeCache::Destroy(code_cache_);
  code_cache_ = nullptr;
  NativeRegion::Destroy(region);
  return false;
}

// A handler requests again what is unavailable now.
void Tracer::GrowAhead() {
  slots_.GrowAhead();
  recorder_.GrowAhead();
  code_cache_->GrowAhead();
}

void Tracer::ReleaseUnused() {
  rlimit limit;
  if (::getrlimit(RLIMIT_AS, &limit) == 0) ReleaseUnusedFor(limit.rlim_cur);
}

void Tracer::ReleaseUnusedFor(uint64_t limit_bytes) {
  if (!slots_.are_reserved() || !IsShort(limit_bytes)) return;
  if (is_releasing_.exchange(true)) return;
  slots_.Shrink(kThreadsWhenShort);
  recorder_.Shrink(kThreadsWhenShort);
  code_cache_->Shrink(kCodeCacheBytesWhenShort);
  is_releasing_ = false;
}

int Tracer::Open(const TracerConfig& config) {
  if (is_open_.exchange(true)) return EBUSY;
  PrepareSignalContext();
  int error_number = MapMemory() ? 0 : ENOMEM;
  if (error_number == 0 && !look_aheads_.LogAccesses(config.recorded_kinds != 0)) {
    error_number = ENOMEM;
  }
  if (error_number == 0 && !code_cache_->SetRecordedKinds(config.recorded_kinds)) {
    error_number = EAGAIN;
  }
  if (error_number == 0) error_number = InstallSignalChain(&Filter, config.uses_real_time_signals);
  if (error_number != 0) {
    is_open_ = false;
    return error_number;
  }
  config_ = config;
  SetHandlerShare(config.handler_share);
  own_start_.dense_samples = 0;
  handler_reserve_.Reset(config.handler_reserve_ns);
  shared_start_ = config.shared_start != nullptr ? config.shared_start : &own_start_;
  recorder_.SetLimits(config.burst, config.recorded_kinds);
  recorder_.SetDrainRequest(config.drain_request);
  config_.keeps_handler_times = config.keeps_handler_times && slots_.ReserveHandlerTimes();
  GrowAhead();
  ++session_;
  breakpoints_.Configure(session_, config.may_use_breakpoints, config.uses_real_time_signals);
  failure_ = TracerFailure::kNone;
  FreeSlotsOfEnded();
  const auto drop = [](const BurstView&, void*) {};
  DrainInto(false, drop, nullptr);
  slots_.StartSession();
  verify_walk_.SetHitsMayBeLate(config.uses_real_time_signals);
  verify_walk_.ResetLog();
  return 0;
}

void Tracer::Close() {
  shared_start_ = &own_start_;
  is_open_ = false;
}

void Tracer::FreeSlotsOfEnded() {
  const uint32_t used = slots_.used();
  for (uint32_t i = 0; i < used; ++i) {
    if (slots_.IsInUse(i) && slots_.HasEnded(i)) RemoveThread(i);
  }
}

void Tracer::RemoveThread(uint32_t index) {
  ThreadSlot* slot = slots_.at(index);
  if (!slot->breakpoint.DisarmFromOutside()) {
    deferred_descriptors_.Add(slot->breakpoint.TakeDescriptor());
  }
  if (slot->is_waiting) {
    slot->Add(Counter::kBreakpointLost);
    FinishBurst(slot);
  }
  verify_walk_.Release(slot);
  slots_.Free(index, recorder_.HandOverBuffer(slot));
}

bool Tracer::WasInHandler(uint32_t tid, uint64_t time_ns, uint64_t ip) const {
  if (!config_.keeps_handler_times) return false;
  return IsAtSignalEdge(ip) || slots_.WasInHandler(tid, time_ns);
}

bool Tracer::IsInHandler(uint32_t tid) {
  const ThreadSlot* slot = slots_.Find(tid);
  return slot != nullptr && slot->in_handler.load() != 0;
}

uint64_t Tracer::SampleData(uint32_t sampler) const {
  return MakeSignalData(session_, SignalKind::kSample, sampler);
}

bool Tracer::Owns(uint64_t address) const {
  return slots_.Owns(address) || recorder_.Owns(address) || look_aheads_.Owns(address) ||
         (code_cache_ != nullptr && code_cache_->Owns(address));
}

void Tracer::Prewarm() {
  if (is_faster_) return;
  is_faster_ = true;
  look_aheads_.Prewarm();
  code_cache_->Prewarm();
}

void Tracer::Enable() { enabled_.store(true); }

// Returns false if there is no such thread.
bool Tracer::Send(int signal, SignalKind kind, uint32_t slot) {
  siginfo_t info = {};
  info.si_signo = signal;
  info.si_code = SI_QUEUE;
  SetSignalData(&info, MakeSignalData(session_, kind, slot));
  return RawSyscall(SYS_rt_tgsigqueueinfo, RawSyscall(SYS_getpid), slots_.Thread(slot), signal,
                    reinterpret_cast<long>(&info)) == 0;
}

// This must not allocate, because the blocked thread may hold the lock of the allocator.
bool Tracer::InterruptBlockedReads() {
  // Other pages may be slow too, but arrive by themselves.
  constexpr uint32_t kMaxInterruptedReads = 3;
  const uint32_t used = slots_.used();
  const uint32_t interrupted_before = interrupted_reads_;
  for (uint32_t i = 0; i < used; ++i) {
    if (!slots_.IsInUse(i) || slots_.at(i)->in_handler.load() == 0) continue;
    if (!look_aheads_.IsInLookAhead(StackPointerInFault(slots_.Thread(i)))) continue;
    if (!Send(SIGSEGV, SignalKind::kInterrupt, i)) continue;
    slots_.AddForWorker(Counter::kInterruptedRead);
    if (++interrupted_reads_ == kMaxInterruptedReads) code_cache_->SetReadsMayBlock();
  }
  return interrupted_reads_ != interrupted_before;
}

void Tracer::SetHandlerShare(double share) {
  constexpr double kOne = 4294967296.0;
  const auto scaled = static_cast<uint64_t>(share * kOne);
  handler_share_.store(share > 0 && scaled == 0 ? 1 : scaled, std::memory_order_relaxed);
}

bool Tracer::Disable(int timeout_ms) {
  enabled_.store(false);
  recorder_.SetDrainRequest(nullptr);
  // Handlers make no system calls, and so cannot disarm anything.
  if (failure_.load() == TracerFailure::kSystemCallRefused) return false;
  FreeSlotsOfEnded();
  const uint64_t deadline_ns =
      ClockNs(CLOCK_MONOTONIC) + static_cast<uint64_t>(timeout_ms) * 1'000'000;
  const uint32_t used = slots_.used();
  bool must_close_deferred = deferred_descriptors_.has_any();
  for (uint32_t i = 0; i < used; ++i) {
    bool was_asked = false;
    if (must_close_deferred && slots_.IsInUse(i) && Send(SIGTRAP, SignalKind::kCleanUp, i)) {
      must_close_deferred = false;
    }
    while (slots_.IsInUse(i) && !EndFromOutside(i, &was_asked) && !slots_.HasEnded(i)) {
      if (ClockNs(CLOCK_MONOTONIC) >= deadline_ns) return false;
      (void)InterruptBlockedReads();
      Pause();
    }
  }
  return true;
}

// Ends the burst of a thread and disarms its breakpoint. Returns false if the thread is in a
// handler, or has to disarm it itself. That it is asked to do by a signal, which ends a poll() in
// which it sleeps (EINTR) although the program may have no handlers and not expect that.
bool Tracer::EndFromOutside(uint32_t index, bool* was_asked) {
  ThreadSlot* slot = slots_.at(index);
  // Its handler must not find the slot taken when the signal arrives.
  if (*was_asked) return slot->in_handler.load() == 0 && slot->has_breakpoint.load() == 0;
  uint32_t none = 0;
  if (!slot->in_handler.compare_exchange_strong(none, 1)) return false;
  const bool is_disarmed = slot->breakpoint.DisarmFromOutside();
  if (is_disarmed) slot->has_breakpoint.store(0);
  if (is_disarmed && slot->is_waiting) FinishBurst(slot);
  slot->in_handler.store(0);
  if (!is_disarmed) *was_asked = Send(SIGTRAP, SignalKind::kCleanUp, index);
  return is_disarmed;
}

void Tracer::DrainInto(bool take_unfinished, BurstRecorder::Visitor visit, void* visitor) {
  GrowAhead();
  const uint32_t used = take_unfinished ? slots_.used() : 0;
  for (uint32_t i = 0; i < used; ++i) {
    if (slots_.at(i)->is_waiting) FinishBurst(slots_.at(i));
  }
  recorder_.Drain(visit, visitor);
  slots_.FreeDelivered();
}

// The memory stays mapped: the alternate stack of the thread that forked is in it. The child gets
// new memory when it opens a session of its own.
void Tracer::ResetInChild() {
  enabled_ = false;
  is_open_ = false;
  is_releasing_ = false;
  slots_.ResetInChild();
  recorder_.ResetInChild();
  if (code_cache_ != nullptr) code_cache_->ResetInChild();
  config_.keeps_handler_times = false;
  is_faster_ = false;
  deferred_descriptors_.ResetInChild();
  verify_walk_.SetOthersStore(false);
  Breakpoint::ResetInChild();
  ++session_;
}

// The functions below run in signal handlers -----------------------------------------------------

HBBP_SIGNAL_EDGE bool Tracer::Filter(int signal, siginfo_t* info, ucontext_t* context) {
  if (signal == SIGSEGV || signal == SIGBUS) {
    return LookAhead::RecoverFromFault(context) || IsInterrupt(*info);
  }
  if (signal != SIGTRAP) return Get().OnRealTimeSignal(signal, *info, context);
  return Get().OnTrap(info, context);
}

// Returns whether the signal is an interrupt that came after the read had ended.
HBBP_SIGNAL_EDGE bool Tracer::IsInterrupt(const siginfo_t& info) {
  const uint64_t data = SignalDataOf(info);
  return info.si_code == SI_QUEUE && (data & kCookieMask) == kSignalCookie &&
         KindOf(data) == SignalKind::kInterrupt;
}

HBBP_SIGNAL_EDGE bool Tracer::OnTrap(siginfo_t* info, ucontext_t* context) {
  const bool may_be_ours =
      info->si_code == kTrapPerf || info->si_code == SI_TIMER || info->si_code == SI_QUEUE;
  const uint64_t data = SignalDataOf(*info);
  const bool is_ours = may_be_ours && (data & kCookieMask) == kSignalCookie;
  if (failure_.load() == TracerFailure::kSystemCallRefused) {
    // Breakpoints may still be armed.
    const bool is_stray = MayBeStray(*info, *context) && !ProgramHandlesTraps();
    if (is_stray) PassBreakpointOnce(context);
    return is_ours || is_stray;
  }
  if (!is_ours) return OnStrayTrap(*info, context);
  const uint32_t session = static_cast<uint32_t>(data >> kSessionShift) & kSessionMask;
  const uint32_t number = static_cast<uint32_t>(data) & kNumberMask;
  if (session != (session_ & kSessionMask) || !slots_.are_reserved()) return true;
  const SignalKind kind = KindOf(data);
  const bool was_delayed = info->si_code == kTrapPerf && WasDelayed(*info);
  if (kind != SignalKind::kSample && kind != SignalKind::kFirstSample) {
    if (number < slots_.used()) Handle(slots_.at(number), {kind, was_delayed}, context);
    return true;
  }
  ThreadSlot* slot = SlotOfSample(kind, number);
  if (slot == nullptr) return true;
  const Arrival arrival = {SignalKind::kSample, was_delayed, WasInKernel(*info, *context),
                           ElapsedPeriods(*info)};
  Handle(slot, arrival, context);
  return true;
}

// Returns null if the sample is none that the thread takes.
HBBP_SIGNAL_EDGE ThreadSlot* Tracer::SlotOfSample(SignalKind kind, uint32_t sampler) {
  ThreadSlot* slot = enabled_.load() ? ClaimSlot() : nullptr;
  if (slot == nullptr) return nullptr;
  if (kind == SignalKind::kFirstSample) {
    if (slot->sampler != 0) return nullptr;
    slot->sampler = sampler;
    slot->had_first_sample = true;
    return slot;
  }
  if (!IsOwnSample(slot, sampler)) return nullptr;
  if (!slot->had_first_sample) return slot;
  // The first sample of all stands for the period that ends here. In half of the threads this one
  // stands for the next period, and in the others that one's end does.
  slot->had_first_sample = false;
  return DrawBit(slot->handler_begin_ns) ? slot : nullptr;
}

// Hypervisors sometimes deliver a debug exception with none of the bits that say what caused it, or
// with those of an earlier one. The kernel then takes it for the instruction int1, for a step or
// for a breakpoint of a debugger, and does not set the flag that lets the program pass the
// breakpoint.
bool Tracer::OnStrayTrap(const siginfo_t& info, ucontext_t* context) {
  if (!MayBeStray(info, *context)) return false;
  const uint64_t ip = Ip(*context);
  ThreadSlot* slot = FindSlot();
  // An exception may be delivered again after its handler has moved the breakpoint on.
  const bool is_at_breakpoint = slot != nullptr && slot->breakpoint.WasAt(ip);
  const bool may_be_of_program =
      info.si_code == TRAP_TRACE ? ProgramHandlesTraps() : MayFollowInt1(ip);
  if (!is_at_breakpoint && may_be_of_program) return false;
  PassBreakpointOnce(context);
  if (slot == nullptr) return true;
  slot->Add(Counter::kStrayTraps);
  const bool is_the_awaited_one = slot->is_waiting && slot->breakpoint.address() == ip;
  if (is_the_awaited_one) Handle(slot, {SignalKind::kBreakpointHit}, context);
  return true;
}

// The descriptor in the signal may belong to a table that is not this thread's, so the number of
// the signal identifies it.
HBBP_SIGNAL_EDGE bool Tracer::OnRealTimeSignal(int signal, const siginfo_t& info,
                                               ucontext_t* context) {
  const bool is_of_descriptor = info.si_code >= POLL_IN && info.si_code <= POLL_HUP;
  if (!is_of_descriptor) return false;
  if (failure_.load() == TracerFailure::kSystemCallRefused) return true;
  ThreadSlot* slot = enabled_.load() ? ClaimSlot() : FindSlot();
  if (slot == nullptr) return true;
  // A hit does not show whether it was delayed, so one that comes too late ends the burst.
  const bool is_sample = signal == kSampleSignal;
  Handle(slot, {is_sample ? SignalKind::kSample : SignalKind::kBreakpointHit}, context);
  return true;
}

// Returns 0 if a seccomp filter refuses the system call; otherwise the kernel always answers.
HBBP_SIGNAL_EDGE uint32_t Tracer::ThisThread() {
  const long tid = RawSyscall(SYS_gettid);
  if (tid > 0) return static_cast<uint32_t>(tid);
  EndForFilter();
  return 0;
}

HBBP_SIGNAL_EDGE ThreadSlot* Tracer::FindSlot() {
  const uint32_t tid = ThisThread();
  return tid == 0 ? nullptr : slots_.Find(tid);
}

HBBP_SIGNAL_EDGE ThreadSlot* Tracer::ClaimSlot() {
  const uint32_t tid = ThisThread();
  if (tid == 0) return nullptr;
  bool is_new;
  ThreadSlot* slot = slots_.Claim(tid, &is_new);
  if (is_new) recorder_.AllowThread();
  return slot;
}

HBBP_SIGNAL_EDGE void Tracer::Handle(ThreadSlot* slot, Arrival arrival, ucontext_t* context) {
  // A fault in this very handler let in a signal that was blocked (see signal_chain.cc), or the
  // worker is ending the burst.
  if (slot->in_handler.exchange(1) != 0) {
    if (arrival.kind != SignalKind::kSample) return;
    slot->Add(Counter::kSamples);
    slot->Add(Counter::kSignalWasBlocked);
    CarryLateSample(slot, arrival.periods);
    return;
  }
  TakeProtectionKeys(*context);
  HandlerTimes* const times = config_.keeps_handler_times ? slots_.handler_times(slot) : nullptr;
  if (times != nullptr) {
    times->Begin(RawClockNs(CLOCK_MONOTONIC));
    const bool requests_drain = times->HasBegunQuarter() && config_.drain_request != nullptr;
    if (requests_drain) config_.drain_request->Post();
  }
  {
    HandlerClock clock(slot);
    switch (arrival.kind) {
      case SignalKind::kSample:
        if (!enabled_.load()) break;
        slot->Add(Counter::kSamples);
        if (arrival.was_delayed) {
          slot->Add(Counter::kSignalWasBlocked);
          CarryLateSample(slot, arrival.periods);
        } else if (arrival.was_in_kernel) {
          slot->Add(Counter::kInKernel);
        } else {
          OnSample(slot, arrival.periods, context);
        }
        break;
      case SignalKind::kBreakpointHit:
        if (enabled_.load()) {
          OnBreakpoint(slot, context, arrival.was_delayed);
          break;
        }
        [[fallthrough]];
      default:
        if (slot->is_waiting) EndBurst(slot);
        ResumeBreakpoints::Disarm(slot);
        if (deferred_descriptors_.has_any()) deferred_descriptors_.CloseAll();
        break;
    }
  }
  if (times != nullptr) times->End(RawClockNs(CLOCK_MONOTONIC));
  slot->in_handler.store(0);
}

void Tracer::OnSample(ThreadSlot* slot, uint32_t periods, ucontext_t* context) {
  slots_.InstallAlternateStack(slot, context);
  if (deferred_descriptors_.has_any()) deferred_descriptors_.CloseAll();
  if (slot->is_waiting) {
    if (slot->makes_progress) {
      slot->makes_progress = false;
      slot->Add(Counter::kSampleDuringBurst);
      CarryLateSample(slot, periods);
      return;
    }
    slot->Add(Counter::kBreakpointLost);
    EndBurst(slot);
  }
  const bool is_look_ahead = config_.mode == Mode::kLookAhead;
  if (StackIsTooSmall(*context, is_look_ahead ? kMinStackBytesForLookAhead : kMinStackBytes)) {
    slot->Add(Counter::kStackTooSmall);
    return;
  }
  if (IsLeftOut(slot, periods) || IsOverBudget(slot, periods)) return;
  if (!recorder_.Begin(slot, periods)) return;
  OnWalkEnd(slot, BeginWalk(slot, context));
}

void Tracer::CarryLateSample(ThreadSlot* slot, uint32_t periods) const {
  if (config_.carries_late_samples) slot->skipped += periods;
}

bool Tracer::IsLeftOut(ThreadSlot* slot, uint32_t periods) {
  // Threads would share the counter for nothing.
  if (config_.samples_by_burst == 1) return false;
  if (IsDense()) {
    shared_start_->dense_samples.fetch_add(1, std::memory_order_relaxed);
    return false;
  }
  const uint32_t mean = config_.samples_by_burst;
  // Samples behind the last burst of a thread are lost. As many are taken as skipped in front of
  // the first one, so that threads with fewer samples than there are for a burst have one as often
  // as they last.
  if (slot->samples_to_burst == 0) {
    slot->samples_to_burst = mean;
    slot->skipped += DrawBelow(mean, slot->handler_begin_ns);
  }
  if (slot->skipped + periods < slot->samples_to_burst) {
    slot->Add(Counter::kLeftOut);
    slot->skipped += periods;
    return true;
  }
  slot->samples_to_burst = DrawAround(mean, slot->handler_begin_ns);
  return false;
}

// The CPU time since the last sample adds to the budget that bursts use up.
bool Tracer::IsOverBudget(ThreadSlot* slot, uint32_t periods) {
  const uint64_t share = handler_share_.load(std::memory_order_relaxed);
  if (share == 0) return false;
  const auto share_of = [share](uint64_t ns) {
    return static_cast<int64_t>(static_cast<unsigned __int128>(ns) * share >> 32);
  };
  const uint64_t now_ns = slot->handler_begin_ns;
  const uint64_t elapsed_ns = slot->budget_until_ns == 0 ? 0 : now_ns - slot->budget_until_ns;
  slot->budget_until_ns = now_ns;
  slot->budget_ns += share_of(elapsed_ns);
  if (slot->budget_ns > share_of(kMaxSavedNs)) slot->budget_ns = share_of(kMaxSavedNs);
  handler_reserve_.Advance(elapsed_ns);
  if (slot->budget_ns < 0) {
    slot->budget_ns +=
        static_cast<int64_t>(handler_reserve_.Take(static_cast<uint64_t>(-slot->budget_ns)));
  }
  if (slot->budget_ns >= 0) return false;
  slot->Add(Counter::kOverBudget);
  slot->skipped += periods;
  return true;
}

WalkEnd Tracer::BeginWalk(ThreadSlot* slot, ucontext_t* context) {
  switch (config_.mode) {
    case Mode::kLookAhead:
      return look_ahead_walk_.Walk(slot, context);
    case Mode::kBreakpoint:
      return walk_by_breakpoints_.Walk(slot, context);
    case Mode::kVerify:
      return verify_walk_.Begin(slot, context);
  }
  return WalkEnd::kBurstEnds;
}

void Tracer::OnBreakpoint(ThreadSlot* slot, ucontext_t* context, bool was_delayed) {
  if (!slot->is_waiting) {
    ResumeBreakpoints::Disarm(slot);
    return;
  }
  // A handler hit it: one of the library, in a function of libc, or one of the program that blocks
  // SIGTRAP.
  if (was_delayed) {
    CountForeignHit(slot);
    return;
  }
  if (Ip(*context) != slot->breakpoint.address()) {
    slot->Add(Counter::kHitElsewhere);
    EndBurst(slot);
    return;
  }
  if (slot->expects_stack && StackPointer(*context) != slot->stack_pointer) {
    CountForeignHit(slot);
    return;
  }
  slot->Add(Counter::kBreakpoints);
  slot->makes_progress = true;
  slot->is_waiting = false;
  ++slot->hits;
  OnWalkEnd(slot, ContinueWalk(slot, context));
}

WalkEnd Tracer::ContinueWalk(ThreadSlot* slot, ucontext_t* context) {
  return config_.mode == Mode::kVerify ? verify_walk_.Continue(slot, context)
                                       : BeginWalk(slot, context);
}

// The hit that the burst waits for is still to come, unless there were too many foreign ones.
void Tracer::CountForeignHit(ThreadSlot* slot) {
  slot->Add(Counter::kHitInOtherFrame);
  if (++slot->foreign_hits < kMaxForeignHits) return;
  slot->Add(Counter::kBreakpointLost);
  EndBurst(slot);
}

void Tracer::OnWalkEnd(ThreadSlot* slot, WalkEnd end) {
  if (end == WalkEnd::kWaits) return;
  if (end == WalkEnd::kStackOverflowed) {
    // The results of the look-ahead for this burst and for later ones cannot be trusted.
    slot->Add(CounterOf(StopReason::kStackOverflow));
    slot->branches = 0;
    failure_.store(TracerFailure::kStackOverflow);
    enabled_.store(false);
  }
  EndBurst(slot);
}

void Tracer::EndBurst(ThreadSlot* slot) {
  ResumeBreakpoints::Disarm(slot);
  FinishBurst(slot);
}

// Finishes the burst; the worker may do this for a thread that has ended.
void Tracer::FinishBurst(ThreadSlot* slot) {
  slot->is_waiting = false;
  slot->is_warm = true;
  verify_walk_.Release(slot);
  recorder_.Finish(slot);
}

}  // namespace hbbp::trace
