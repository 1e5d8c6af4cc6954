// HandleSignal, at the edge (signal_chain.h), is the handler of every signal that the chain has
// taken. It calls the filter, and if the signal is not the library's, delivers it as the program
// wants: to its handler, on the stack that it asked for (EnterOnStackOfProgram), by the default
// action (TakeDefaultAction), or later (Defer). InstallSignalChain, ReclaimSignals and
// ReleaseSignals, which the worker calls, exchange actions with the kernel; the functions at the
// end answer the program's sigaction.
#include "trace/signal_chain.h"

#include <sys/syscall.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/raw_syscall.h"

namespace hbbp::trace {

// The linker defines such symbols for every section whose name is a C identifier.
[[gnu::visibility("hidden")]] extern const char kSignalEdgeStart[] asm("__start_hbbp_signal_edge");
[[gnu::visibility("hidden")]] extern const char kSignalEdgeEnd[] asm("__stop_hbbp_signal_edge");

namespace {

constexpr int kSignals[] = {SIGTRAP, SIGSEGV, SIGBUS, kSampleSignal, kBreakpointSignal};
constexpr int kAlwaysChained = 3;
constexpr int kSignalCount = sizeof(kSignals) / sizeof(*kSignals);
constexpr uint32_t kEntries = 64;
constexpr size_t kKernelSetBytes = 8;

// These are the actions that the program has set for one signal. A change writes the next entry and
// then publishes its number; the last 64 stay readable.
struct ProgramActions {
  std::atomic<uint32_t> newest;
  std::atomic<uint32_t> current;
  struct sigaction entries[kEntries];
};

constinit ProgramActions program_actions[kSignalCount] = {};
std::atomic<bool> owned[kSignalCount];
std::atomic<int> executing{0};        // threads of this process between IgnoreForExec and exec
std::atomic<bool> reclaiming{false};  // a thread is in ReclaimSignals
std::atomic<SignalFilter> filter_of_signals{nullptr};
std::atomic<TrapBlockedQuery> trap_is_blocked{nullptr};

int IndexOf(int signal) {
  for (int i = 0; i < kSignalCount; ++i) {
    if (kSignals[i] == signal) return i;
  }
  return -1;
}

void Publish(int index, const struct sigaction& action) {
  ProgramActions& actions = program_actions[index];
  const uint32_t next = actions.newest.fetch_add(1, std::memory_order_relaxed) + 1;
  actions.entries[next % kEntries] = action;
  actions.current.store(next, std::memory_order_release);
}

const struct sigaction& Current(int index) {
  ProgramActions& actions = program_actions[index];
  return actions.entries[actions.current.load(std::memory_order_acquire) % kEntries];
}

// Returns what of a set is the kernel's.
uint64_t BitsOf(const sigset_t& set) {
  uint64_t bits;
  static_assert(sizeof(bits) == kKernelSetBytes);
  __builtin_memcpy(&bits, &set, kKernelSetBytes);
  return bits;
}

HBBP_SIGNAL_EDGE void HandleSignal(int signal, siginfo_t* info, void* raw_context);

constexpr uint64_t kHasRestorer = 0x04000000;  // SA_RESTORER

extern "C" void HbbpReturnFromSignal();

// Debuggers and unwinders recognise the end of a signal frame by exactly these instructions.
asm(R"(
  .pushsection hbbp_signal_edge, "ax", @progbits
  .hidden HbbpReturnFromSignal
  .globl HbbpReturnFromSignal
  .type HbbpReturnFromSignal, @function
  nop
HbbpReturnFromSignal:
  movq $15, %rax
  syscall
  .size HbbpReturnFromSignal, . - HbbpReturnFromSignal
  .popsection
)");

// Functions of libc may be interposed and call this library.
int SetKernelAction(int signal, const struct sigaction& action,
                    struct sigaction* replaced = nullptr, uint64_t more_blocked = 0) {
  KernelAction kernel_action = ToKernel(action);
  kernel_action.mask |= more_blocked;
  kernel_action.flags |= kHasRestorer;
  kernel_action.restorer = &HbbpReturnFromSignal;
  KernelAction kernel_replaced = {};
  const long result = RawSyscall(SYS_rt_sigaction, signal, reinterpret_cast<long>(&kernel_action),
                                 reinterpret_cast<long>(&kernel_replaced), kKernelSetBytes);
  if (replaced != nullptr) *replaced = FromKernel(kernel_replaced);
  return static_cast<int>(-result);
}

int GetKernelAction(int signal, struct sigaction* action) {
  KernelAction kernel_action = {};
  const long result = RawSyscall(SYS_rt_sigaction, signal, 0,
                                 reinterpret_cast<long>(&kernel_action), kKernelSetBytes);
  *action = FromKernel(kernel_action);
  return static_cast<int>(-result);
}

struct sigaction OurAction() {
  struct sigaction action = {};
  action.sa_sigaction = &HandleSignal;
  // The handler runs on the alternate stack, because a frame on the program's would overwrite dead
  // stack below it, which some programs read (copies of partly uninitialised objects), and because
  // stacks of coroutines may be too small.
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
  // All signals are blocked: a handler of the program that interrupted this one might never return
  // to it.
  sigfillset(&action.sa_mask);
  sigdelset(&action.sa_mask, SIGSEGV);
  sigdelset(&action.sa_mask, SIGBUS);
  sigdelset(&action.sa_mask, SIGFPE);
  sigdelset(&action.sa_mask, SIGILL);
  return action;
}

// Sets it in the kernel. With the signals by which libc cancels threads and changes their user IDs,
// which sigfillset leaves out: cancelling would unwind the stack of the interpreter.
int SetOurAction(int signal, struct sigaction* replaced = nullptr) {
  constexpr uint64_t kSignalsOfLibc = uint64_t{3} << 31;
  return SetKernelAction(signal, OurAction(), replaced, kSignalsOfLibc);
}

bool IsOurs(const struct sigaction& action) {
  return (action.sa_flags & SA_SIGINFO) != 0 && action.sa_sigaction == &HandleSignal;
}

// Takes a signal. The program may set its action at the same time, so the action that was replaced
// becomes the program's; `before` is only for signals that come meanwhile.
int TakeSignal(int index, const struct sigaction& before) {
  Publish(index, before);
  struct sigaction replaced;
  const int error_number = SetOurAction(kSignals[index], &replaced);
  const bool differs =
      replaced.sa_sigaction != before.sa_sigaction || replaced.sa_flags != before.sa_flags;
  if (error_number == 0 && differs && !IsOurs(replaced)) Publish(index, replaced);
  return error_number;
}

// Lets the signal take its default action.
void TakeDefaultAction(int signal, const siginfo_t& info, ucontext_t* context) {
  struct sigaction action = {};
  action.sa_handler = SIG_DFL;
  SetKernelAction(signal, action);
  sigdelset(&context->uc_sigmask, signal);
  // A fault recurs when the handler returns, with its address. Any other signal has to be sent
  // again; a dump of the program then says where it came from.
  const bool happens_again = info.si_code > 0 && signal != SIGTRAP;
  if (happens_again) return;
  const long pid = RawSyscall(SYS_getpid), tid = RawSyscall(SYS_gettid);
  if (RawSyscall(SYS_rt_tgsigqueueinfo, pid, tid, signal, &info) != 0) {
    RawSyscall(SYS_tgkill, pid, tid, signal);
  }
}

extern "C" [[noreturn]] void HbbpEnterHandler(void (*handler)(int, siginfo_t*, void*), int signal,
                                              siginfo_t* info, void* context, uint64_t stack);

// Enters handler(signal, info, context) with the stack pointer at `stack`, where its return address
// is, and with the registers of the context as far as Linux leaves them as they were. Some programs
// (GNU Prolog) keep values of their own in such registers everywhere.
static_assert(offsetof(ucontext_t, uc_mcontext.gregs) == 40);
asm(R"(
  .pushsection hbbp_signal_edge, "ax", @progbits
  .hidden HbbpEnterHandler
  .globl HbbpEnterHandler
  .type HbbpEnterHandler, @function
HbbpEnterHandler:
  movq %r8, %rsp
  movq %rdi, -8(%rsp)
  movl %esi, %edi
  movq %rdx, %rsi
  movq %rcx, %rdx
  movq 40(%rdx), %r8
  movq 48(%rdx), %r9
  movq 56(%rdx), %r10
  movq 64(%rdx), %r11
  movq 72(%rdx), %r12
  movq 80(%rdx), %r13
  movq 88(%rdx), %r14
  movq 96(%rdx), %r15
  movq 120(%rdx), %rbp
  movq 128(%rdx), %rbx
  movq 152(%rdx), %rcx
  xorl %eax, %eax
  jmp *-8(%rsp)
  .size HbbpEnterHandler, . - HbbpEnterHandler
  .popsection
)");

// rt_sigreturn expects this at the stack pointer, after the return address.
struct SignalFrame {
  void (*restorer)();
  ucontext_t context;
  siginfo_t info;
};

constexpr uint64_t SignalBit(int signal) { return uint64_t{1} << (signal - 1); }

bool IsOn(const stack_t& stack, uint64_t address) {
  if (stack.ss_flags & SS_DISABLE) return false;
  return address - reinterpret_cast<uint64_t>(stack.ss_sp) < stack.ss_size;
}

uint64_t BytesOfVectorState(const void* state) {
  constexpr size_t kMagicOffset = 464, kSizeOffset = 468;
  constexpr uint32_t kHasExtendedState = 0x46505853;  // FP_XSTATE_MAGIC1
  constexpr uint64_t kLegacyBytes = 512;
  uint32_t magic, size;
  __builtin_memcpy(&magic, static_cast<const char*>(state) + kMagicOffset, sizeof(magic));
  __builtin_memcpy(&size, static_cast<const char*>(state) + kSizeOffset, sizeof(size));
  return magic == kHasExtendedState ? size : kLegacyBytes;
}

// Copies the frame to where the kernel would have put that of a handler without SA_ONSTACK, and
// enters the handler from there. It must not return to the alternate stack: the kernel decides by
// the stack pointer whether that is in use, and would write the frame of the next signal over this
// one.
//
// A frame that cannot be written ends the program by a blocked fault, as it does where the kernel
// writes it. `blocked` are the signals that the handler has blocked.
[[noreturn]] HBBP_SIGNAL_EDGE void EnterOnStackOfProgram(int signal, const struct sigaction& action,
                                                         const siginfo_t& info,
                                                         const ucontext_t& context,
                                                         uint64_t blocked) {
  constexpr uint64_t kRedZone = 128, kVectorAlignment = 64, kStackAlignment = 16;
  const uint64_t while_writing = blocked | SignalBit(SIGSEGV) | SignalBit(SIGBUS);
  RawSyscall(SYS_rt_sigprocmask, SIG_SETMASK, &while_writing, nullptr, kKernelSetBytes);
  uint64_t top = static_cast<uint64_t>(context.uc_mcontext.gregs[REG_RSP]) - kRedZone;
  const void* vector_state = context.uc_mcontext.fpregs;
  void* vector_copy = nullptr;
  if (vector_state != nullptr) {
    const uint64_t bytes = BytesOfVectorState(vector_state);
    top = (top - bytes) & ~(kVectorAlignment - 1);
    vector_copy = reinterpret_cast<void*>(top);
    __builtin_memcpy(vector_copy, vector_state, bytes);
  }
  // The stack is aligned as after a call: before the return address was pushed.
  top = ((top - sizeof(SignalFrame)) & ~(kStackAlignment - 1)) - sizeof(void*);
  auto* frame = reinterpret_cast<SignalFrame*>(top);
  frame->restorer = &HbbpReturnFromSignal;
  frame->context = context;
  frame->context.uc_mcontext.fpregs = static_cast<fpregset_t>(vector_copy);
  frame->info = info;
  RawSyscall(SYS_rt_sigprocmask, SIG_SETMASK, &blocked, nullptr, kKernelSetBytes);
  HbbpEnterHandler(action.sa_sigaction, signal, &frame->info, &frame->context, top);
}

// `frame` is that of the kernel, with the return address of HandleSignal, or 0 if HandleSignal was
// called by a handler of the program.
HBBP_SIGNAL_EDGE void CallProgramHandler(int signal, const struct sigaction& action,
                                         siginfo_t* info, ucontext_t* context, uint64_t frame) {
  uint64_t blocked = BitsOf(context->uc_sigmask), of_action = BitsOf(action.sa_mask);
  // Where masks are interposed, nothing else blocks it either.
  const bool blocks_traps = signal == SIGTRAP || trap_is_blocked.load() == nullptr;
  if (!blocks_traps) of_action &= ~SignalBit(SIGTRAP);
  blocked |= of_action;
  if ((action.sa_flags & SA_NODEFER) == 0) blocked |= SignalBit(signal);
  const auto here = reinterpret_cast<uint64_t>(__builtin_frame_address(0));
  const auto stack_pointer = static_cast<uint64_t>(context->uc_mcontext.gregs[REG_RSP]);
  const bool must_leave_stack = (action.sa_flags & SA_ONSTACK) == 0 &&
                                IsOn(context->uc_stack, here) &&
                                !IsOn(context->uc_stack, stack_pointer);
  if (must_leave_stack) EnterOnStackOfProgram(signal, action, *info, *context, blocked);
  RawSyscall(SYS_rt_sigprocmask, SIG_SETMASK, reinterpret_cast<long>(&blocked), 0, kKernelSetBytes);
  if (frame != 0) HbbpEnterHandler(action.sa_sigaction, signal, info, context, frame);
  action.sa_sigaction(signal, info, context);
}

// Where a fault happened. If a SIGTRAP of perf is pending then, Linux delivers both, the SIGTRAP
// first, even if it is blocked (dequeue_synchronous_signal in kernel/signal.c). The frame of the
// fault thus says that it happened at the first instruction of the handler of the SIGTRAP, whose
// third argument is what the fault has really interrupted.
HBBP_SIGNAL_EDGE ucontext_t* InterruptedByFault(ucontext_t* context) {
  const auto& registers = context->uc_mcontext.gregs;
  if (static_cast<uint64_t>(registers[REG_RIP]) != reinterpret_cast<uint64_t>(&HandleSignal)) {
    return context;
  }
  return reinterpret_cast<ucontext_t*>(registers[REG_RDX]);
}

// Sends a signal again that the program blocks or waits for, and blocks it in this thread. The
// kernel then delivers it to a thread that does not block it, so that in the end every thread
// blocks it that the program wants to.
HBBP_SIGNAL_EDGE void Defer(const siginfo_t& info, ucontext_t* context) {
  sigaddset(&context->uc_sigmask, SIGTRAP);
  SendAgain(info);
}

// Linux leaves the flag set for a handler.
HBBP_SIGNAL_EDGE void StopAlignmentChecks() {
  asm volatile(
      "lea -128(%%rsp), %%rsp\n\t"
      "pushfq\n\t"
      "andl $~0x40000, (%%rsp)\n\t"
      "popfq\n\t"
      "lea 128(%%rsp), %%rsp" ::
          : "cc", "memory");
}

void HandleSignal(int signal, siginfo_t* info, void* raw_context) {
  StopAlignmentChecks();
  ucontext_t* context = InterruptedByFault(static_cast<ucontext_t*>(raw_context));
  const SignalFilter filter = filter_of_signals.load(std::memory_order_acquire);
  if (filter(signal, info, context)) return;
  const TrapBlockedQuery is_blocked = trap_is_blocked.load(std::memory_order_relaxed);
  const bool was_sent = info->si_code <= 0;
  if (signal == SIGTRAP && was_sent && is_blocked != nullptr &&
      is_blocked(BitsOf(context->uc_sigmask))) {
    Defer(*info, context);
    return;
  }
  const int index = IndexOf(signal);
  const struct sigaction action = Current(index);
  const bool was_forced = info->si_code > 0;
  if (action.sa_handler == SIG_IGN && !was_forced) return;
  if (action.sa_handler == SIG_DFL || action.sa_handler == SIG_IGN) {
    TakeDefaultAction(signal, *info, context);
    return;
  }
  if (action.sa_flags & SA_RESETHAND) {
    struct sigaction reset = action;
    reset.sa_handler = SIG_DFL;
    Publish(index, reset);
  }
  // The return address is above the saved frame pointer, and the context above that.
  const uint64_t entry = reinterpret_cast<uint64_t>(__builtin_frame_address(0)) + sizeof(void*);
  const bool is_of_kernel = entry + sizeof(void*) == reinterpret_cast<uint64_t>(raw_context);
  CallProgramHandler(signal, action, info, context, is_of_kernel ? entry : 0);
}

}  // namespace

int InstallSignalChain(SignalFilter filter, bool with_real_time_signals) {
  filter_of_signals.store(filter, std::memory_order_release);
  const int count = with_real_time_signals ? kSignalCount : kAlwaysChained;
  for (int i = 0; i < count; ++i) {
    if (owned[i].load(std::memory_order_acquire)) continue;
    struct sigaction previous;
    if (const int error_number = GetKernelAction(kSignals[i], &previous)) return error_number;
    if (const int error_number = TakeSignal(i, previous)) return error_number;
    owned[i].store(true, std::memory_order_release);
  }
  ReclaimSignals();
  return 0;
}

int ReclaimSignals() {
  int reclaimed = 0;
  reclaiming.store(true);
  for (int i = 0; i < kSignalCount && executing.load() == 0; ++i) {
    struct sigaction found;
    const bool is_chained = owned[i].load(std::memory_order_acquire);
    if (!is_chained || GetKernelAction(kSignals[i], &found) != 0 || IsOurs(found)) continue;
    if (TakeSignal(i, found) == 0) ++reclaimed;
  }
  reclaiming.store(false);
  return reclaimed;
}

HBBP_SIGNAL_EDGE void SendAgain(const siginfo_t& info) {
  const long pid = RawSyscall(SYS_getpid), tid = RawSyscall(SYS_gettid);
  const long result = info.si_code == SI_TKILL
                          ? RawSyscall(SYS_rt_tgsigqueueinfo, pid, tid, SIGTRAP, &info)
                          : RawSyscall(SYS_rt_sigqueueinfo, pid, SIGTRAP, &info);
  // The kernel lets only the main thread claim that another process sent the signal.
  if (result != 0) RawSyscall(SYS_kill, pid, SIGTRAP);
}

void SetTrapBlockedQuery(TrapBlockedQuery query) { trap_is_blocked = query; }

void IgnoreForExec(bool is_own_process) {
  if (is_own_process) {
    executing.fetch_add(1);
    // The thread may be gone (after fork), or be interrupted by this one.
    constexpr int kMaxYields = 1000;
    for (int yields = 0; reclaiming.load() && yields < kMaxYields; ++yields) {
      RawSyscall(SYS_sched_yield);
    }
  }
  for (int i = 0; i < kSignalCount; ++i) {
    struct sigaction found;
    if (!owned[i].load(std::memory_order_acquire) || Current(i).sa_handler != SIG_IGN) continue;
    if (GetKernelAction(kSignals[i], &found) == 0 && IsOurs(found)) {
      SetKernelAction(kSignals[i], Current(i));
    }
  }
}

void TakeBackAfterExec(bool is_own_process) {
  if (is_own_process) executing.fetch_sub(1);
  for (int i = 0; i < kSignalCount; ++i) {
    if (!owned[i].load(std::memory_order_acquire) || Current(i).sa_handler != SIG_IGN) continue;
    SetOurAction(kSignals[i]);
  }
}

void ReleaseSignals(bool with_signals_of_events) {
  for (int i = 0; i < kSignalCount; ++i) {
    const bool is_fault = kSignals[i] == SIGSEGV || kSignals[i] == SIGBUS;
    if (!is_fault && !with_signals_of_events) continue;
    if (owned[i].exchange(false)) SetKernelAction(kSignals[i], Current(i));
  }
}

bool FaultsAreCaught(const sigset_t& blocked) {
  for (const int signal : {SIGSEGV, SIGBUS}) {
    struct sigaction found;
    if (sigismember(&blocked, signal) != 0) return false;
    if (GetKernelAction(signal, &found) != 0 || !IsOurs(found)) return false;
  }
  return true;
}

bool IsActionOfChain(const struct sigaction& action) { return IsOurs(action); }

bool IsAtSignalEdge(uint64_t ip) {
  return ip >= reinterpret_cast<uint64_t>(kSignalEdgeStart) &&
         ip < reinterpret_cast<uint64_t>(kSignalEdgeEnd);
}

bool IsChained(int signal) {
  const int index = IndexOf(signal);
  return index >= 0 && owned[index].load(std::memory_order_acquire);
}

void SetProgramAction(int signal, const struct sigaction& action) {
  Publish(IndexOf(signal), action);
}

struct sigaction ProgramAction(int signal) {
  return Current(IndexOf(signal));
}

struct sigaction FromKernel(const KernelAction& kernel_action) {
  struct sigaction action = {};
  action.sa_sigaction = kernel_action.handler;
  action.sa_flags = static_cast<int>(kernel_action.flags & ~kHasRestorer);
  __builtin_memcpy(&action.sa_mask, &kernel_action.mask, kKernelSetBytes);
  return action;
}

KernelAction ToKernel(const struct sigaction& action) {
  KernelAction kernel_action = {action.sa_sigaction, static_cast<uint32_t>(action.sa_flags),
                                nullptr, 0};
  __builtin_memcpy(&kernel_action.mask, &action.sa_mask, kKernelSetBytes);
  return kernel_action;
}

bool HasAsynchronousHandlers() {
  for (const int signal : {SIGALRM, SIGVTALRM, SIGPROF, SIGCHLD, SIGUSR1, SIGUSR2, SIGIO, SIGURG}) {
    struct sigaction action = {};
    if (GetKernelAction(signal, &action) != 0) continue;
    const bool has_handler = action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN;
    if (has_handler) return true;
  }
  return false;
}

}  // namespace hbbp::trace
