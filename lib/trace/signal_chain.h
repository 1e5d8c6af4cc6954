// The signals that we share with the program: SIGTRAP for samples and breakpoints (on kernels that
// cannot send it, two real-time signals), SIGSEGV and SIGBUS for loads of the interpreter that
// fault. What is not ours goes to the handler that the
// program has, in the way that the kernel would have called it.
//
// Handlers stay in place when a session ends: a SIGTRAP may still be waiting in a thread that
// blocks it, and would end the program.
//
// The program may install handlers of its own later. Where its calls of sigaction come to
// SetProgramAction (libhbbp-preload.so stands in front of it), the two never meet. Elsewhere
// Reclaim, called by the worker, finds out and puts ours in front again.
//
// Contract: everything but Install and Reclaim is async-signal-safe. An action is changed by
// publishing a new entry; a handler that runs meanwhile still uses the old one.
#ifndef HBBP_LIB_TRACE_SIGNAL_CHAIN_H_
#define HBBP_LIB_TRACE_SIGNAL_CHAIN_H_

#include <signal.h>
#include <ucontext.h>

#include <cstdint>

// The edge of signal handlers: what runs in them before and after the times that HandlerTimes has.
// A sample that the kernel held back until it has returned to user mode is at the first
// instruction. Of functions; their code is in one piece.
#define HBBP_SIGNAL_EDGE [[gnu::section("hbbp_signal_edge")]]

namespace hbbp::trace {

// True if the signal was ours.
using SignalFilter = bool (*)(int signal, siginfo_t* info, ucontext_t* context);

// Of perf events without `sigtrap`.
inline constexpr int kSampleSignal = 61;
inline constexpr int kBreakpointSignal = 62;

// Puts `filter` in front of the program's handlers of SIGTRAP, SIGSEGV and SIGBUS, and if
// `with_real_time_signals` of these two. What was done once is not done again. 0 or an errno.
int InstallSignalChain(SignalFilter filter, bool with_real_time_signals);

// For the worker: takes the signals back that the program has taken from us. Returns how many.
int ReclaimSignals();

// After tracing has ended for good: the kernel gets the actions of the program, at once for the
// faults, and for SIGTRAP and the real-time signals if `with_signals_of_events`, when none can come
// any more.
void ReleaseSignals(bool with_signals_of_events);

// Has the program blocked SIGTRAP in the calling thread, which the kernel does not know of? Then
// one that somebody sends is blocked in earnest and sent again: it waits for the program.
using TrapBlockedQuery = bool (*)();
void SetTrapBlockedQuery(TrapBlockedQuery query);

// Around exec, which keeps what is ignored: the kernel ignores what the program ignores, and after
// an exec that failed our handlers are back. Also for a child with handlers of its own.
void IgnoreForExec();
void TakeBackAfterExec();

bool IsAtSignalEdge(uint64_t ip);

// Do faults of a thread with this signal mask come to our filter?
bool FaultsAreCaught(const sigset_t& blocked);

// Is it the action that the chain has put into the kernel?
bool IsActionOfChain(const struct sigaction& action);

// Is `signal` one that the chain has taken? Then the program's sigaction is to be answered by
// the two below.
bool IsChained(int signal);
void SetProgramAction(int signal, const struct sigaction& action);
struct sigaction ProgramAction(int signal);

// Has the program a handler of a signal that timers, children or other threads send?
bool HasAsynchronousHandlers();

}  // namespace hbbp::trace

#endif  // HBBP_LIB_TRACE_SIGNAL_CHAIN_H_
