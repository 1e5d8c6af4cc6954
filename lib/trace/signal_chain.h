// The chain handles the signals that the library shares with the program: SIGTRAP for samples and
// breakpoints (on kernels that cannot send it, two real-time signals), SIGSEGV and SIGBUS for loads
// of the interpreter that fault. Signals of the program go to its handler, in the way that the
// kernel would have called it.
//
// Handlers remain installed when a session ends: a SIGTRAP may still be pending in a thread that
// blocks it, and would end the program.
//
// The program may install handlers of its own later. Where libhbbp-preload.so interposes sigaction,
// its calls come to SetProgramAction and do not replace ours. Elsewhere the worker calls
// ReclaimSignals, which installs ours again.
//
// Contract: everything but Install and Reclaim is async-signal-safe. An action is changed by
// publishing a new entry; a handler that runs meanwhile still uses the old one.
#ifndef HBBP_LIB_TRACE_SIGNAL_CHAIN_H_
#define HBBP_LIB_TRACE_SIGNAL_CHAIN_H_

#include <signal.h>
#include <ucontext.h>

#include <cstdint>

// Marks functions of the edge of signal handlers, which run before and after the times that
// HandlerTimes records. A sample that the kernel delays until it returns to user mode is at their
// first instruction. Their code is contiguous.
#define HBBP_SIGNAL_EDGE [[gnu::section("hbbp_signal_edge")]]

namespace hbbp::trace {

// Returns true if the signal is the library's.
using SignalFilter = bool (*)(int signal, siginfo_t* info, ucontext_t* context);

// Perf events without `sigtrap` send these.
inline constexpr int kSampleSignal = 61;
inline constexpr int kBreakpointSignal = 62;

// Installs `filter` before the program's handlers of SIGTRAP, SIGSEGV and SIGBUS, and if
// `with_real_time_signals` of these two. A signal that was taken before is skipped. Returns 0 or an
// errno; Status cannot be used in trace/.
int InstallSignalChain(SignalFilter filter, bool with_real_time_signals);

// For the worker: takes back the signals that the program has taken over. Returns how many.
int ReclaimSignals();

// Gives the kernel the actions of the program after tracing has ended for good: always for the
// faults, and for SIGTRAP and the real-time signals if `with_signals_of_events`, which requires
// that none can come any more.
void ReleaseSignals(bool with_signals_of_events);

// Returns whether the program believes to have blocked SIGTRAP in the calling thread, where the
// kernel has `blocked` for it. A SIGTRAP from elsewhere is then really blocked and sent again, so
// that it waits for the program.
using TrapBlockedQuery = bool (*)(uint64_t blocked);
void SetTrapBlockedQuery(TrapBlockedQuery query);

// Sends a SIGTRAP that was taken, and is the program's, to the process or thread that it was for.
void SendAgain(const siginfo_t& info);

// Call these around exec, which keeps ignored signals: the first makes the kernel ignore what the
// program ignores, and the second installs our handlers again after an exec that failed. They also
// serve a child with handlers of its own, which shares memory with its parent (vfork); for any
// other `is_own_process` is true, and ReclaimSignals does nothing between the two.
void IgnoreForExec(bool is_own_process);
void TakeBackAfterExec(bool is_own_process);

bool IsAtSignalEdge(uint64_t ip);

// Returns whether faults of a thread with this signal mask come to the filter. It asks the kernel,
// because the program may have set a handler of its own since ReclaimSignals: that would be called
// for a fault of the interpreter, and might jump out of it.
bool FaultsAreCaught(const sigset_t& blocked);

// Returns whether it is the action that the chain has installed in the kernel.
bool IsActionOfChain(const struct sigaction& action);

// Returns whether the chain has taken `signal`. Then the two functions below answer the program's
// sigaction.
bool IsChained(int signal);
void SetProgramAction(int signal, const struct sigaction& action);
struct sigaction ProgramAction(int signal);

// The kernel's own layout of an action, for rt_sigaction(2).
struct KernelAction {
  void (*handler)(int, siginfo_t*, void*);
  uint64_t flags;
  void (*restorer)();
  uint64_t mask;
};

// An action of the kernel has a restorer, which the first leaves out and the second does not add.
struct sigaction FromKernel(const KernelAction& kernel_action);
KernelAction ToKernel(const struct sigaction& action);

// Returns whether the program handles a signal that timers, children or other threads send.
bool HasAsynchronousHandlers();

}  // namespace hbbp::trace

#endif  // HBBP_LIB_TRACE_SIGNAL_CHAIN_H_
