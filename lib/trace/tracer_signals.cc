// What happens in signal handlers.
//
// Contract: as in tracer.h. A handler of ours is not interrupted by another signal of its thread,
// except a fault of the interpreter, which RecoverFromFault ends.
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>

#include "base/raw_syscall.h"
#include "trace/branch.h"
#include "trace/code_walk.h"
#include "trace/native/signal_context.h"
#include "trace/program_memory.h"
#include "trace/restartable_sequence.h"
#include "trace/signal_chain.h"
#include "trace/signal_edge.h"
#include "trace/tracer.h"
#include "trace/tracer_layout.h"

namespace hbbp::trace {
namespace {

constexpr int kTrapPerf = 6;                // TRAP_PERF
constexpr uint32_t kPerfSignalAsync = 1;    // TRAP_PERF_FLAG_ASYNC
constexpr int kTrapHardwareBreakpoint = 4;  // TRAP_HWBKPT
constexpr uint64_t kSystemCallLength = 2;
// A signal handler that runs the same loop as the program would stop at each round; and a handler
// of ours that comes by the breakpoint would be interrupted by the hit as soon as it returns, and
// come by again.
constexpr uint32_t kMaxForeignHits = 8;
// A burst that look-ahead cannot record but at this price is not worth it.
constexpr uint32_t kMaxLookAheadBreakpoints = 64;
// Look-ahead has a stack of its own.
constexpr uint64_t kLeastStackForLookAhead = 2 * 1024;
constexpr uint64_t kLeastStack = 12 * 1024;
// Of another sampler, before a thread takes that for its own.
constexpr uint32_t kForeignSamples = 3;
// A thread that saves may not spend it all at once.
constexpr int64_t kMostSavedSamples = 4;

// Without the vdso, in which the program may have been interrupted. Not base's ClockNs: of an
// inline function the linker may take the copy of a unit that is compiled with instrumentation.
uint64_t RawClockNs(clockid_t clock) {
  timespec now = {};
  RawSyscall(SYS_clock_gettime, clock, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

// Counts the time from its making to its end, in CPU time: a handler that waits for its turn costs
// nothing.
class HandlerClock {
 public:
  explicit HandlerClock(ThreadSlot* slot)
      : slot_(slot), is_charged_(slot->is_warm), begin_ns_(RawClockNs(CLOCK_THREAD_CPUTIME_ID)) {}
  ~HandlerClock() {
    const uint64_t spent_ns = RawClockNs(CLOCK_THREAD_CPUTIME_ID) - begin_ns_;
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

uint64_t IpOf(const ucontext_t& context) {
  return static_cast<uint64_t>(context.uc_mcontext.gregs[REG_RIP]);
}

uint64_t StackPointerOf(const ucontext_t& context) {
  return static_cast<uint64_t>(context.uc_mcontext.gregs[REG_RSP]);
}

// The program goes on over a breakpoint at the very instruction that it goes on with. After a hit
// the kernel has set the flag already; after a sample it has not.
void PassBreakpointOnce(ucontext_t* context) {
  constexpr greg_t kResumeFlag = 1 << 16;
  context->uc_mcontext.gregs[REG_EFL] |= kResumeFlag;
}

// On an alternate stack of the program's, which may be tiny.
bool StackIsTooSmall(const ucontext_t& context, uint64_t least_bytes) {
  if (context.uc_stack.ss_flags & SS_DISABLE) return false;
  const auto here = reinterpret_cast<uint64_t>(__builtin_frame_address(0));
  const auto lowest = reinterpret_cast<uint64_t>(context.uc_stack.ss_sp);
  const bool is_on_it = here - lowest < context.uc_stack.ss_size;
  return is_on_it && here - lowest < least_bytes;
}

bool RegistersMatch(const MachineState& predicted, const MachineState& found) {
  for (unsigned i = 0; i < 16; ++i) {
    if ((predicted.poison & GprBit(i)) == 0 && predicted.gpr[i] != found.gpr[i]) return false;
  }
  constexpr uint64_t kFlags[] = {kFlagCf, kFlagPf, kFlagAf, kFlagZf, kFlagSf, kFlagOf};
  uint64_t differing = predicted.flags ^ found.flags;
  for (unsigned i = 0; i < 6; ++i) {
    if (predicted.poison & (kCfBit << i)) differing &= ~kFlags[i];
  }
  return (differing & kArithmeticFlags) == 0;
}

// Will the thread, as far as the look-ahead has come, be in a restartable sequence at `address`?
bool EntersSequenceAt(LookAhead* look_ahead, uint64_t address) {
  const uint64_t current = AddressOfCurrentSequence();
  uint64_t descriptor = 0, start = 0, length = 0;
  if (current == 0 || !look_ahead->ReadQword(current, &descriptor) || descriptor == 0) return false;
  return look_ahead->ReadQword(descriptor + offsetof(SequenceDescriptor, start_ip), &start) &&
         look_ahead->ReadQword(descriptor + offsetof(SequenceDescriptor, post_commit_offset),
                               &length) &&
         address - start < length;
}

// Is the target of a taken branch, if memory has it, what the burst has there?
bool TargetMatches(LookAhead* look_ahead, const Branch& branch, const MachineState& state,
                   const BranchOutcome& found) {
  if (!found.taken || branch.target.kind != TargetExpression::kMemory) return true;
  uint64_t predicted = 0;
  return look_ahead->ReadQword(TargetAddress(branch.target, state), &predicted) &&
         predicted == found.next;
}

Counter CounterOfDisagreement(Divergence divergence) {
  switch (divergence) {
    case Divergence::kMemoryChanged:
      return Counter::kDisagreementMemoryChanged;
    case Divergence::kCodeChanged:
      return Counter::kDisagreementCodeChanged;
    case Divergence::kOtherPath:
      return Counter::kDisagreementSignal;
    case Divergence::kAtomic:
      return Counter::kDisagreementAtomic;
    case Divergence::kReadsNotKept:
      return Counter::kDisagreementReadsNotKept;
    default:
      return Counter::kDisagreements;
  }
}

}  // namespace

HBBP_SIGNAL_EDGE bool Tracer::Filter(int signal, siginfo_t* info, ucontext_t* context) {
  if (signal == SIGSEGV || signal == SIGBUS) {
    return LookAhead::RecoverFromFault(context) || IsInterrupt(*info);
  }
  if (signal != SIGTRAP) return Get().OnRealTimeSignal(signal, *info, context);
  return Get().OnTrap(info, context);
}

// One that came when the read had ended.
HBBP_SIGNAL_EDGE bool Tracer::IsInterrupt(const siginfo_t& info) {
  const uint64_t data = SignalDataOf(info);
  return info.si_code == SI_QUEUE && (data & kCookieMask) == kSignalCookie &&
         (static_cast<uint32_t>(data >> kKindShift) & kKindMask) == kInterrupt;
}

HBBP_SIGNAL_EDGE bool Tracer::OnTrap(siginfo_t* info, ucontext_t* context) {
  const bool may_be_ours =
      info->si_code == kTrapPerf || info->si_code == SI_TIMER || info->si_code == SI_QUEUE;
  const uint64_t data = SignalDataOf(*info);
  const bool is_ours = may_be_ours && (data & kCookieMask) == kSignalCookie;
  if (failure_.load() == TracerFailure::kSystemCallRefused) return is_ours;
  if (!is_ours) return OnStrayTrap(*info, context);
  const uint32_t session = static_cast<uint32_t>(data >> kSessionShift) & kSessionMask;
  const uint32_t number = static_cast<uint32_t>(data) & kNumberMask;
  if (session != (session_ & kSessionMask) || slots_ == nullptr) return true;
  const auto kind = static_cast<SignalKind>(static_cast<uint32_t>(data >> kKindShift) & kKindMask);
  const bool was_delayed = info->si_code == kTrapPerf && WasDelayed(*info);
  if (kind != kSample) {
    if (number < used_slots_) Handle(&slots_[number], {kind, was_delayed}, context);
    return true;
  }
  ThreadSlot* slot = enabled_.load() ? ClaimSlot() : nullptr;
  if (slot != nullptr && IsOwnSample(slot, number)) {
    Handle(slot, {kind, was_delayed, WasInKernel(*info, *context), PeriodsOf(*info)}, context);
  }
  return true;
}

// A thread that was born while others were attached to may have inherited a sampler and been given
// another one.
HBBP_SIGNAL_EDGE bool Tracer::IsOwnSample(ThreadSlot* slot, uint32_t sampler) {
  if (slot->sampler == 0 || ++slot->foreign_samples == kForeignSamples) slot->sampler = sampler;
  if (slot->sampler != sampler) return false;
  slot->foreign_samples = 0;
  return true;
}

HBBP_SIGNAL_EDGE void Tracer::Handle(ThreadSlot* slot, Arrival arrival, ucontext_t* context) {
  slot->in_handler.store(1);
  HandlerTimes* const times =
      config_.keeps_handler_times ? &handler_times_[IndexOf(slot)] : nullptr;
  if (times != nullptr) times->Begin(RawClockNs(CLOCK_MONOTONIC));
  {
    HandlerClock clock(slot);
    switch (arrival.kind) {
      case kSample:
        if (!enabled_.load()) break;
        slot->Add(Counter::kSamples);
        if (arrival.was_delayed) {
          slot->Add(Counter::kSignalWasBlocked);
        } else if (arrival.was_in_kernel) {
          slot->Add(Counter::kInKernel);
        } else {
          OnSample(slot, arrival.periods, context);
        }
        break;
      case kBreakpointHit:
        if (enabled_.load()) {
          OnBreakpoint(slot, context, arrival.was_delayed);
          break;
        }
        [[fallthrough]];
      default:
        if (slot->is_waiting) EndBurst(slot);
        slot->breakpoint.Disarm();
        slot->has_breakpoint.store(0);
        if (has_left_descriptors_.load()) CloseLeftDescriptors();
        break;
    }
  }
  if (times != nullptr) times->End(RawClockNs(CLOCK_MONOTONIC));
  slot->in_handler.store(0);
}

// Hypervisors now and then deliver a debug exception without the bits that say what it was. The
// kernel takes it for the instruction int1, which it is not, and does not set the flag that lets
// the program go on over the breakpoint.
bool Tracer::OnStrayTrap(const siginfo_t& info, ucontext_t* context) {
  constexpr uint8_t kInt1 = 0xf1;
  constexpr greg_t kTrapFlag = 1 << 8;
  if (info.si_code != TRAP_BRKPT && info.si_code != kTrapHardwareBreakpoint) return false;
  // The program steps through itself, and waits for it.
  if (context->uc_mcontext.gregs[REG_EFL] & kTrapFlag) return false;
  const uint64_t ip = IpOf(*context);
  ThreadSlot* slot = SlotOfThisThread();
  if (slot == nullptr) return false;
  const bool is_the_awaited_one = slot->is_waiting && slot->breakpoint.address() == ip;
  // Many other instructions end with that byte: `xor %esi, %ecx`.
  uint8_t before = 0;
  const bool may_be_int1 = ReadProgramMemory(ip - 1, &before, 1) && before == kInt1;
  if (!is_the_awaited_one && may_be_int1) return false;
  slot->Add(Counter::kStrayTraps);
  PassBreakpointOnce(context);
  if (is_the_awaited_one) Handle(slot, {kBreakpointHit}, context);
  return true;
}

// 0: refused. Without one the kernel always answers.
HBBP_SIGNAL_EDGE uint32_t Tracer::ThisThread() {
  const long tid = RawSyscall(SYS_gettid);
  if (tid > 0) return static_cast<uint32_t>(tid);
  EndForFilter();
  return 0;
}

HBBP_SIGNAL_EDGE ThreadSlot* Tracer::SlotOfThisThread() {
  const uint32_t tid = ThisThread();
  if (tid == 0) return nullptr;
  const uint32_t used = slots_ == nullptr ? 0 : used_slots_.load();
  for (uint32_t i = 0; i < used; ++i) {
    if (owners_[i].load(std::memory_order_relaxed) == tid) return &slots_[i];
  }
  return nullptr;
}

// A thread keeps its slot over sessions, because its alternate stack belongs to the slot.
HBBP_SIGNAL_EDGE ThreadSlot* Tracer::ClaimSlot() {
  ThreadSlot* known = SlotOfThisThread();
  if (known != nullptr) return known;
  const uint32_t tid = ThisThread();
  if (tid == 0) return nullptr;
  for (uint32_t i = 0; i < max_threads_ && UseSlot(i); ++i) {
    uint32_t nobody = 0;
    if (!owners_[i].compare_exchange_strong(nobody, tid)) continue;
    uint32_t used = used_slots_.load();
    if (used <= i) buffers_.Allow(kBuffersPerThread);
    while (used <= i && !used_slots_.compare_exchange_weak(used, i + 1)) {
    }
    return &slots_[i];
  }
  samples_without_slot_.fetch_add(1, std::memory_order_relaxed);
  return nullptr;
}

// The descriptor in the signal is a number in a table that may not be this thread's, so the
// signal's own number says what it is.
HBBP_SIGNAL_EDGE bool Tracer::OnRealTimeSignal(int signal, const siginfo_t& info,
                                               ucontext_t* context) {
  const bool is_of_descriptor = info.si_code >= POLL_IN && info.si_code <= POLL_HUP;
  if (!is_of_descriptor) return false;
  if (failure_.load() == TracerFailure::kSystemCallRefused) return true;
  ThreadSlot* slot = enabled_.load() ? ClaimSlot() : SlotOfThisThread();
  if (slot == nullptr) return true;
  // Nothing says whether a hit was delayed, so one that comes too late ends the burst.
  Handle(slot, {signal == kSampleSignal ? kSample : kBreakpointHit}, context);
  return true;
}

bool Tracer::WasDelayed(const siginfo_t& info) {
  uint32_t flags;
  __builtin_memcpy(&flags, reinterpret_cast<const char*>(&info) + kPerfFlagsOffset, sizeof(flags));
  return (flags & kPerfSignalAsync) != 0;
}

// Perf events leave the kernel out; a timer that expires there sends its signal at the end of the
// system call, which has left the address behind it in rcx.
bool Tracer::WasInKernel(const siginfo_t& info, const ucontext_t& context) {
  return info.si_code == SI_TIMER &&
         context.uc_mcontext.gregs[REG_RCX] == context.uc_mcontext.gregs[REG_RIP];
}

// A timer that expires again while its signal waits sends no second one. Timers of CPU time expire
// at ticks of the kernel, for all periods that have passed since the last one.
uint32_t Tracer::PeriodsOf(const siginfo_t& info) {
  return info.si_code == SI_TIMER && info.si_overrun > 0
             ? static_cast<uint32_t>(info.si_overrun) + 1
             : 1;
}

// In a handler: the table of descriptors is the program's.
void Tracer::CloseLeftDescriptors() {
  has_left_descriptors_ = false;
  for (std::atomic<int>& left : left_descriptors_) {
    const int descriptor_plus_one = left.exchange(0);
    if (descriptor_plus_one != 0) Breakpoint::CloseDescriptor(descriptor_plus_one - 1);
  }
}

// Each sample pays a part of what bursts cost.
bool Tracer::IsOverBudget(ThreadSlot* slot, uint32_t periods) {
  const auto income = static_cast<int64_t>(sample_budget_ns_.load(std::memory_order_relaxed));
  if (income == 0) return false;
  slot->budget_ns += income * periods;
  if (slot->budget_ns > kMostSavedSamples * income) slot->budget_ns = kMostSavedSamples * income;
  if (slot->budget_ns >= 0) return false;
  slot->Add(Counter::kOverBudget);
  slot->skipped += periods;
  return true;
}

void Tracer::OnSample(ThreadSlot* slot, uint32_t periods, ucontext_t* context) {
  GiveAlternateStack(slot, context);
  if (has_left_descriptors_.load(std::memory_order_relaxed)) CloseLeftDescriptors();
  if (slot->is_waiting) {
    if (slot->makes_progress) {
      slot->makes_progress = false;
      slot->Add(Counter::kSampleDuringBurst);
      return;
    }
    slot->Add(Counter::kBreakpointLost);
    EndBurst(slot);
  }
  const bool is_look_ahead = config_.mode == Mode::kLookAhead;
  if (StackIsTooSmall(*context, is_look_ahead ? kLeastStackForLookAhead : kLeastStack)) {
    slot->Add(Counter::kStackTooSmall);
    return;
  }
  if (IsOverBudget(slot, periods) || !BeginBurst(slot, periods)) return;
  switch (config_.mode) {
    case Mode::kLookAhead:
      GoOnByLookAhead(slot, context);
      break;
    case Mode::kBreakpoint:
      WalkByBreakpoints(slot, context);
      break;
    case Mode::kVerify:
      StartVerifying(slot, context);
      break;
  }
}

void Tracer::OnBreakpoint(ThreadSlot* slot, ucontext_t* context, bool was_delayed) {
  if (!slot->is_waiting) {
    slot->breakpoint.Disarm();
    slot->has_breakpoint.store(0);
    return;
  }
  // A handler came by: ours, in a function of libc, or one of the program that blocks SIGTRAP.
  if (was_delayed) {
    CountForeignHit(slot);
    return;
  }
  if (IpOf(*context) != slot->breakpoint.address()) {
    slot->Add(Counter::kHitElsewhere);
    EndBurst(slot);
    return;
  }
  if (slot->expects_stack && StackPointerOf(*context) != slot->stack_pointer) {
    CountForeignHit(slot);
    return;
  }
  slot->Add(Counter::kBreakpoints);
  slot->makes_progress = true;
  slot->is_waiting = false;
  ++slot->hits;
  switch (config_.mode) {
    case Mode::kLookAhead:
      if (slot->hits < kMaxLookAheadBreakpoints) {
        GoOnByLookAhead(slot, context);
      } else {
        slot->Add(Counter::kTooManyBreakpoints);
        EndBurst(slot);
      }
      break;
    case Mode::kBreakpoint:
      WalkByBreakpoints(slot, context);
      break;
    case Mode::kVerify:
      GoOnVerifying(slot, context);
      break;
  }
}

// The one that the burst waits for is still to come, unless there are too many of them.
void Tracer::CountForeignHit(ThreadSlot* slot) {
  slot->Add(Counter::kHitInOtherFrame);
  if (++slot->foreign_hits < kMaxForeignHits) return;
  slot->Add(Counter::kBreakpointLost);
  EndBurst(slot);
}

// The return from the handler puts it in place.
void Tracer::GiveAlternateStack(const ThreadSlot* slot, ucontext_t* context) {
  const size_t offset = IndexOf(slot) * kAlternateStackBytes;
  if ((context->uc_stack.ss_flags & SS_DISABLE) == 0) return;
  if (!alternate_stacks_.Use(offset + kAlternateStackBytes)) return;
  context->uc_stack.ss_sp = alternate_stacks_.start() + offset;
  context->uc_stack.ss_size = kAlternateStackBytes;
  context->uc_stack.ss_flags = 0;
}

// Bursts -----------------------------------------------------------------------------------------

bool Tracer::BeginBurst(ThreadSlot* slot, uint32_t periods) {
  slot->earlier_branches = 0;
  slot->has_parts = false;
  slot->branches = 0;
  slot->hits = 0;
  slot->instructions = 0;
  slot->last_branch = ThreadSlot::kNoBranch;
  slot->makes_progress = false;
  slot->restarts = false;
  slot->periods = slot->skipped + periods;
  slot->skipped = 0;
  const uint32_t buffer = slot->buffer.load(std::memory_order_relaxed);
  const uint32_t used =
      buffer == 0 ? 0 : buffers_.at(buffer - 1)->committed.load(std::memory_order_relaxed);
  uint32_t fresh;
  if (!TakeBufferBehind(slot, used, &fresh)) return false;
  StartPart(slot, fresh);
  return true;
}

// Takes a buffer, if so many entries of the current one leave no room for a header and the rest of
// the burst, or as much as a buffer holds. False if there is none.
bool Tracer::TakeBufferBehind(ThreadSlot* slot, uint32_t used, uint32_t* fresh) {
  uint32_t entries = Missing(*slot) + kHeaderEntries;
  if (entries > BurstBuffer::kCapacity) entries = BurstBuffer::kCapacity;
  *fresh = BurstBufferPool::kNone;
  const bool has_buffer = slot->buffer.load(std::memory_order_relaxed) != 0;
  if (has_buffer && BurstBuffer::kCapacity - used >= entries) return true;
  *fresh = buffers_.Take();
  if (*fresh == BurstBufferPool::kNone) {
    slot->Add(Counter::kNoFreeBuffer);
    return false;
  }
  return true;
}

// In the buffer `fresh`, or in the current one if that is kNone.
void Tracer::StartPart(ThreadSlot* slot, uint32_t fresh) {
  uint32_t buffer = slot->buffer.load(std::memory_order_relaxed);
  if (fresh != BurstBufferPool::kNone) {
    buffers_.at(fresh)->slot = IndexOf(slot);
    if (buffer != 0) buffers_.PushFull(buffer - 1);
    buffer = fresh + 1;
    slot->buffer.store(buffer, std::memory_order_release);
  }
  BurstBuffer* current = buffers_.at(buffer - 1);
  slot->header = current->committed.load(std::memory_order_relaxed);
  slot->branches = 0;
  slot->in_streams = 0;
  BurstHeader* header = current->HeaderAt(slot->header);
  *header = BurstHeader();
  header->time_ns = RawClockNs(CLOCK_MONOTONIC);
  header->periods = static_cast<uint16_t>(slot->periods < UINT16_MAX ? slot->periods : UINT16_MAX);
}

// Makes the part visible to the worker.
void Tracer::CommitPart(ThreadSlot* slot, PartEnd end) {
  BurstBuffer* buffer = buffers_.at(slot->buffer.load(std::memory_order_relaxed) - 1);
  BurstHeader* header = buffer->HeaderAt(slot->header);
  header->branches = slot->branches;
  header->instructions = slot->in_streams;
  header->end = end;
  buffer->committed.store(slot->header + kHeaderEntries + slot->branches,
                          std::memory_order_release);
  slot->Add(Counter::kTakenBranches, slot->branches);
}

// False if there is no buffer for it: then this part remains the last one.
bool Tracer::StartNextPart(ThreadSlot* slot, PartEnd end) {
  uint32_t fresh;
  if (!TakeBufferBehind(slot, slot->header + kHeaderEntries + slot->branches, &fresh)) return false;
  CommitPart(slot, end);
  slot->has_parts = true;
  slot->earlier_branches += slot->branches;
  slot->branches = 0;
  if (end == PartEnd::kAfterGap) slot->last_branch = ThreadSlot::kNoBranch;
  StartPart(slot, fresh);
  return true;
}

uint32_t Tracer::Missing(const ThreadSlot& slot) const {
  return config_.burst_branches - slot.earlier_branches - slot.branches;
}

// Where the next branches go; nullptr if there is no buffer for them.
TakenBranch* Tracer::Room(ThreadSlot* slot, uint32_t* capacity) {
  uint32_t buffer = slot->buffer.load(std::memory_order_relaxed);
  uint32_t first = slot->header + kHeaderEntries + slot->branches;
  if (first == BurstBuffer::kCapacity) {
    if (!StartNextPart(slot, PartEnd::kGoesOn)) return nullptr;
    buffer = slot->buffer.load(std::memory_order_relaxed);
    first = slot->header + kHeaderEntries;
  }
  const uint32_t room = BurstBuffer::kCapacity - first;
  *capacity = room < Missing(*slot) ? room : Missing(*slot);
  return &buffers_.at(buffer - 1)->entries[first];
}

bool Tracer::Record(ThreadSlot* slot, const TakenBranch& branch) {
  uint32_t capacity;
  TakenBranch* room = Room(slot, &capacity);
  if (room == nullptr) return false;
  *room = branch;
  ++slot->branches;
  return true;
}

// Branches were recorded, up to that many instructions from where the burst began. What is in front
// of the first one of a burst, or behind a gap, is in no stream.
void Tracer::CoverStreams(ThreadSlot* slot, uint64_t first_branch, uint64_t last_branch) {
  if (slot->last_branch == ThreadSlot::kNoBranch) slot->last_branch = first_branch;
  slot->in_streams += last_branch - slot->last_branch;
  slot->last_branch = last_branch;
}

void Tracer::CountRun(ThreadSlot* slot, const RunResult& result) {
  if (result.branches != 0) {
    CoverStreams(slot, slot->instructions + result.first_branch,
                 slot->instructions + result.last_branch);
  }
  slot->branches += result.branches;
  slot->instructions += result.instructions;
}

void Tracer::EndBurst(ThreadSlot* slot) {
  slot->breakpoint.Disarm();
  slot->has_breakpoint.store(0);
  FinishBurst(slot);
}

// The rest of it, which the worker may do for a thread that has ended.
void Tracer::FinishBurst(ThreadSlot* slot) {
  slot->is_waiting = false;
  slot->is_warm = true;
  if (slot->look_ahead != nullptr) {
    ReleaseLookAhead(slot->look_ahead);
    slot->look_ahead = nullptr;
  }
  const bool makes_a_stream = slot->branches >= 2;
  if (!slot->has_parts && !makes_a_stream) return;
  CommitPart(slot, PartEnd::kLast);
  slot->branches = 0;
  slot->has_parts = false;
  slot->Add(Counter::kBursts);
}

// The program stops at `address` next, if the stack pointer is the expected one.
bool Tracer::Arm(ThreadSlot* slot, uint64_t address, ucontext_t* context) {
  if (!config_.may_use_breakpoints) {
    slot->Add(Counter::kBreakpointRefused);
    return false;
  }
  // The handler of the hit would come by it again.
  if (IsAtSignalEdge(address)) {
    slot->Add(Counter::kInOwnCode);
    return false;
  }
  if (IsInRestartableSequence(address)) {
    slot->Add(Counter::kRestartableSequence);
    return false;
  }
  const int error_number =
      slot->breakpoint.Arm(address, SignalData(kBreakpointHit, IndexOf(slot)),
                           config_.uses_real_time_signals ? kBreakpointSignal : 0);
  if (error_number != 0) {
    const bool all_are_taken = error_number == ENOSPC || error_number == EBUSY;
    slot->Add(all_are_taken            ? Counter::kNoDebugRegister
              : error_number == EMFILE ? Counter::kNoDescriptor
                                       : Counter::kBreakpointRefused);
    return false;
  }
  if (address == IpOf(*context)) PassBreakpointOnce(context);
  slot->has_breakpoint.store(1);
  slot->is_waiting = true;
  slot->foreign_hits = 0;
  return true;
}

// Break Dancing ----------------------------------------------------------------------------------

// Martin et al.'s algorithm 1: what the code alone resolves is recorded at once, for anything else
// the program runs to a breakpoint. `context` is that of the program where it is now.
void Tracer::WalkByBreakpoints(ThreadSlot* slot, ucontext_t* context) {
  MachineState state;
  LoadGeneralRegisters(*context, &state);
  bool registers_are_known = true;
  slot->expects_stack = true;
  slot->stack_pointer = state.gpr[kRsp];
  uint64_t ip = state.rip;
  for (;;) {
    if (Missing(*slot) == 0) break;
    const CodeWalk walk = WalkToBranch(ip, registers_are_known ? state.gpr[kRax] : kUnknownRax);
    slot->instructions += walk.instructions;
    if (walk.reason != StopReason::kDynamicBranch ||
        slot->instructions >= config_.burst_instructions) {
      slot->Add(CounterOf(
          walk.reason != StopReason::kDynamicBranch ? walk.reason : StopReason::kInstructionLimit));
      break;
    }
    const Branch& branch = walk.branch;
    registers_are_known = registers_are_known && walk.instructions == 0;
    slot->expects_stack = slot->expects_stack && walk.knows_stack;
    slot->stack_pointer += static_cast<uint64_t>(walk.stack_change);
    if (!IsResolvedByCode(branch) && !registers_are_known) {
      if (Arm(slot, branch.address, context)) return;
      break;
    }
    const BranchOutcome outcome = Evaluate(branch, state);
    if (!outcome.known) {
      slot->Add(Counter::kUnknownTarget);
      break;
    }
    ++slot->instructions;
    if (outcome.taken) {
      if (!Record(slot, {branch.address, outcome.next})) break;
      CoverStreams(slot, slot->instructions, slot->instructions);
    }
    // Conditions and plain jumps change no register; what calls and returns change is not followed.
    const bool changes_stack = branch.stack_change != 0;
    const bool changes_counter =
        branch.condition > Condition::kEcxZero && branch.condition < Condition::kAlways;
    registers_are_known = registers_are_known && !changes_stack && !changes_counter;
    slot->stack_pointer += static_cast<uint64_t>(static_cast<int64_t>(branch.stack_change));
    ip = outcome.next;
  }
  EndBurst(slot);
}

// Look-ahead -------------------------------------------------------------------------------------

LookAhead* Tracer::AcquireLookAhead() {
  uint64_t free = free_look_aheads_.load(std::memory_order_relaxed);
  while (free != 0) {
    const auto index = static_cast<unsigned>(__builtin_ctzll(free));
    if (free_look_aheads_.compare_exchange_weak(free, free & (free - 1),
                                                std::memory_order_acquire)) {
      return MakeLookAhead(index);
    }
  }
  return nullptr;
}

// The ones that are free and the others alike take memory when they are used first.
LookAhead* Tracer::MakeLookAhead(unsigned index) {
  const uint64_t bit = uint64_t{1} << index;
  void* memory = look_aheads_.start() + index * LookAheadStride();
  if (made_look_aheads_.load(std::memory_order_relaxed) & bit) {
    return static_cast<LookAhead*>(memory);
  }
  if (!look_aheads_.Use((index + 1) * LookAheadStride())) {
    free_look_aheads_.fetch_or(bit, std::memory_order_release);
    return nullptr;
  }
  made_look_aheads_.fetch_or(bit, std::memory_order_relaxed);
  return LookAhead::Create(memory, code_cache_);
}

void Tracer::ReleaseLookAhead(LookAhead* look_ahead) {
  const auto offset =
      static_cast<size_t>(reinterpret_cast<uint8_t*>(look_ahead) - look_aheads_.start());
  free_look_aheads_.fetch_or(uint64_t{1} << (offset / LookAheadStride()),
                             std::memory_order_release);
}

// Where the program can be met again after a stop, and with which stack pointer.
Tracer::Meeting Tracer::WhereToGoOn(LookAhead* look_ahead, const RunResult& result) {
  const MachineState& state = look_ahead->state();
  Meeting meeting;
  meeting.knows_stack = (state.poison & GprBit(kRsp)) == 0;
  meeting.stack_pointer = state.gpr[kRsp];
  switch (result.reason) {
    case StopReason::kDynamicBranch:
    case StopReason::kUnknownBranch:
    case StopReason::kUnknownStore:
      meeting.address = result.ip;
      break;
    case StopReason::kSystemCall:
      // rt_sigreturn continues where a signal came, and not behind itself.
      if (state.gpr[kRax] == SYS_rt_sigreturn) break;
      meeting.address = result.ip + kSystemCallLength;
      meeting.passed = 1;
      break;
    case StopReason::kInVdso:
      // A call has just led there, if the burst did not begin inside.
      if (result.instructions == 0 || !meeting.knows_stack ||
          !look_ahead->ReadQword(meeting.stack_pointer, &meeting.address)) {
        meeting.address = 0;
      }
      meeting.stack_pointer += sizeof(uint64_t);
      break;
    default:
      break;
  }
  if (meeting.address != 0 && EntersSequenceAt(look_ahead, meeting.address)) meeting.address = 0;
  return meeting;
}

bool Tracer::Await(ThreadSlot* slot, const Meeting& meeting, ucontext_t* context) {
  slot->expects_stack = meeting.knows_stack;
  slot->stack_pointer = meeting.stack_pointer;
  slot->instructions += meeting.passed;
  return Arm(slot, meeting.address, context);
}

// What the look-ahead said of this burst cannot be trusted, nor what it would say of the next ones.
void Tracer::EndTracing(ThreadSlot* slot) {
  slot->Add(CounterOf(StopReason::kStackOverflow));
  slot->branches = 0;
  failure_.store(TracerFailure::kStackOverflow);
  enabled_.store(false);
}

void Tracer::CountWork(const LookAhead& look_ahead, ThreadSlot* slot) {
  slot->Add(Counter::kInstructions, look_ahead.stats().instructions);
  slot->Add(Counter::kDecoded, look_ahead.stats().decoded_instructions);
  slot->Add(Counter::kMissingPage, look_ahead.stats().missing_pages);
}

void Tracer::GoOnByLookAhead(ThreadSlot* slot, ucontext_t* context) {
  LookAhead* look_ahead = AcquireLookAhead();
  if (look_ahead == nullptr) {
    slot->Add(Counter::kNoFreeInterpreter);
    EndBurst(slot);
    return;
  }
  look_ahead->Begin(*context, FaultsAreCaught(context->uc_sigmask));
  bool waits = false;
  for (;;) {
    uint32_t capacity;
    TakenBranch* room = Room(slot, &capacity);
    if (room == nullptr) break;
    const RunResult result =
        look_ahead->Run(room, capacity, config_.burst_instructions - slot->instructions);
    if (result.reason == StopReason::kStackOverflow) {
      EndTracing(slot);
      break;
    }
    CountRun(slot, result);
    if (Missing(*slot) == 0) break;
    if (result.reason == StopReason::kFull) continue;
    slot->Add(CounterOf(result.reason));
    const Meeting meeting = WhereToGoOn(look_ahead, result);
    const bool got_nowhere = result.instructions == 0 && meeting.address == IpOf(*context);
    if (meeting.address == 0 || got_nowhere) break;
    const bool skips_code = result.reason == StopReason::kInVdso;
    if (skips_code && !StartNextPart(slot, PartEnd::kAfterGap)) break;
    waits = Await(slot, meeting, context);
    break;
  }
  CountWork(*look_ahead, slot);
  ReleaseLookAhead(look_ahead);
  if (!waits) EndBurst(slot);
}

// Verification -----------------------------------------------------------------------------------

void Tracer::StartVerifying(ThreadSlot* slot, ucontext_t* context) {
  slot->look_ahead = AcquireLookAhead();
  if (slot->look_ahead == nullptr) {
    slot->Add(Counter::kNoFreeInterpreter);
    EndBurst(slot);
    return;
  }
  // Every second burst loads as those that are not verified, unless there may be races to find.
  slot->keeps_reads = !slot->keeps_reads || OthersMayStore() || HasAsynchronousHandlers();
  slot->look_ahead->BeginVerified(*context, FaultsAreCaught(context->uc_sigmask),
                                  slot->keeps_reads);
  slot->divergence = Divergence::kNone;
  slot->verified_to = IpOf(*context);
  Predict(slot, nullptr, context);
}

// Interprets up to the next branch that the code alone does not resolve, and waits there. If
// `found` is where the program really goes on from here, compares.
void Tracer::Predict(ThreadSlot* slot, const BranchOutcome* found, ucontext_t* context) {
  LookAhead* look_ahead = slot->look_ahead;
  const uint64_t ip = look_ahead->state().rip;
  bool is_first = true;
  for (;;) {
    uint32_t capacity;
    TakenBranch* room = Room(slot, &capacity);
    if (room == nullptr) break;
    const RunResult result = look_ahead->RunToDynamicBranch(
        room, capacity, config_.burst_instructions - slot->instructions);
    if (result.reason == StopReason::kStackOverflow) {
      EndTracing(slot);
      break;
    }
    if (is_first && found != nullptr && result.instructions != 0) {
      const bool predicts_taken = result.branches != 0 && room[0].from == ip;
      const bool is_right =
          predicts_taken == found->taken && (!predicts_taken || room[0].to == found->next);
      slot->Add(Counter::kVerified);
      if (!is_right) {
        slot->Add(CounterOfDisagreement(slot->divergence));
        const bool has_diverged = slot->divergence != Divergence::kNone;
        disagreement_log_.Add(has_diverged ? slot->divergence : Divergence::kUnexplained,
                              has_diverged ? slot->diverged_at : ip);
        break;
      }
    }
    is_first = false;
    CountRun(slot, result);
    if (Missing(*slot) == 0) break;
    if (result.reason == StopReason::kFull) continue;
    slot->restarts = result.reason != StopReason::kDynamicBranch;
    if (slot->restarts) slot->Add(CounterOf(result.reason));
    const Meeting meeting = WhereToGoOn(look_ahead, result);
    const bool got_nowhere = result.instructions == 0 && slot->restarts && meeting.address == ip;
    if (meeting.address == 0 || got_nowhere) break;
    const bool skips_code = result.reason == StopReason::kInVdso;
    if (skips_code && !StartNextPart(slot, PartEnd::kAfterGap)) break;
    if (Await(slot, meeting, context)) return;
    break;
  }
  CountWork(*look_ahead, slot);
  EndBurst(slot);
}

// Threads or processes, apart from handlers of this thread.
bool Tracer::OthersMayStore() const {
  if (others_store_.load(std::memory_order_relaxed)) return true;
  uint32_t threads = 0;
  for (uint32_t i = 0; i < used_slots_.load(); ++i) threads += owners_[i].load() != 0;
  return threads > 1;
}

// Why the program is in `found` and not where it was predicted to be.
Divergence Tracer::FindDivergence(ThreadSlot* slot, const MachineState& found) const {
  const Divergence divergence = slot->look_ahead->FindDivergence(found);
  const bool handler_came_by = slot->foreign_hits != 0;
  const bool is_unexplained =
      divergence == Divergence::kUnexplained || divergence == Divergence::kReadsNotKept;
  const bool has_other_stores = divergence == Divergence::kStoreChanged;
  if ((is_unexplained || has_other_stores) && handler_came_by) return Divergence::kOtherPath;
  const bool others_may_store = OthersMayStore();
  if (has_other_stores) {
    const bool may_be_of_others = others_may_store || HasAsynchronousHandlers();
    return may_be_of_others ? Divergence::kMemoryChanged : Divergence::kUnexplained;
  }
  if (is_unexplained && others_may_store && HasAtomicBefore(found.rip, slot->verified_to)) {
    return Divergence::kAtomic;
  }
  return divergence;
}

void Tracer::GoOnVerifying(ThreadSlot* slot, ucontext_t* context) {
  if (slot->restarts) {
    CountWork(*slot->look_ahead, slot);
    slot->look_ahead->BeginVerified(*context, FaultsAreCaught(context->uc_sigmask),
                                    slot->keeps_reads);
    slot->divergence = Divergence::kNone;
    slot->verified_to = IpOf(*context);
    Predict(slot, nullptr, context);
    return;
  }
  MachineState state;
  LoadGeneralRegisters(*context, &state);
  const bool registers_match = RegistersMatch(slot->look_ahead->state(), state);
  if (!registers_match) slot->Add(Counter::kRegistersDisagree);
  const CodeWalk walk = WalkToBranch(state.rip);
  BranchOutcome found;
  if (walk.reason == StopReason::kDynamicBranch && walk.instructions == 0) {
    found = Evaluate(walk.branch, state);
  }
  if (!found.known) {
    slot->Add(Counter::kUnknownTarget);
    CountWork(*slot->look_ahead, slot);
    EndBurst(slot);
    return;
  }
  if (slot->divergence == Divergence::kNone &&
      (!registers_match || !TargetMatches(slot->look_ahead, walk.branch, state, found))) {
    slot->divergence = FindDivergence(slot, state);
    slot->diverged_at = state.rip;
  }
  slot->look_ahead->Continue(*context);
  slot->verified_to = found.next;
  Predict(slot, &found, context);
}

}  // namespace hbbp::trace
