// What the tracer counts: its work, and why samples made no burst or bursts ended early.
#ifndef HBBP_LIB_TRACE_COUNTER_H_
#define HBBP_LIB_TRACE_COUNTER_H_

#include <cstdint>

#include "trace/interpreter/taken_branch.h"

namespace hbbp::trace {

// Everything that is counted. Reasons for the end of a burst follow kFirstStopReason.
enum class Counter : uint8_t {
  kSamples,  // signals of the sampling event
  kBursts,   // with at least two taken branches
  kTakenBranches,
  kBreakpoints,               // hits in the right frame
  kInstructions,              // interpreted
  kDecoded,                   // instructions that the code cache did not have
  kHandlerNs,                 // CPU time
  kOverBudget,                // samples left out, because earlier ones had cost too much
  kVerified,                  // branches whose prediction was compared with the program
  kDisagreements,             // of these, wrong in direction or target
  kDisagreementReadsNotKept,  // likewise, in bursts whose reads are not kept to find out why
  kRegistersDisagree,         // of these, with other registers than predicted
  // Wrong, but not by a mistake: the program had been disturbed since it was predicted.
  kDisagreementMemoryChanged,
  kDisagreementCodeChanged,
  kDisagreementSignal,
  kDisagreementAtomic,
  // Why a sample made no burst, or a burst ended early.
  kSignalWasBlocked,   // the sample came later than the event
  kInKernel,           // a timer expired in a system call
  kSampleDuringBurst,  // the last burst still waits for its breakpoint
  kNoFreeSlot,         // more threads than can be traced at once
  kNoFreeBuffer,
  kNoFreeInterpreter,
  kStackTooSmall,
  kBreakpointLost,     // never hit: the program went another way (longjmp, thread end, signal)
  kHitInOtherFrame,    // a signal handler or coroutine came by; the burst goes on waiting
  kInOwnCode,          // the breakpoint would be in a handler of ours
  kHitElsewhere,       // the registers are not those at the breakpoint
  kStrayTraps,         // debug exceptions that the kernel could not explain
  kNoDebugRegister,    // all are taken, by a debugger perhaps
  kNoDescriptor,       // that the program could not miss
  kBreakpointRefused,  // for any other reason, or this method has none
  kTooManyBreakpoints,
  kMissingPage,          // not in memory, and reading it might block
  kInterruptedRead,      // one that did
  kRestartableSequence,  // a breakpoint there would abort it each time
  kUnknownTarget,        // the memory that holds it could not be read
  kFirstStopReason,
  kCount = kFirstStopReason + static_cast<int>(StopReason::kCount)
};
inline constexpr int kCounters = static_cast<int>(Counter::kCount);

constexpr Counter CounterOf(StopReason reason) {
  return static_cast<Counter>(static_cast<int>(Counter::kFirstStopReason) +
                              static_cast<int>(reason));
}

// "breakpoint-lost", "unknown-branch"; nullptr for what has a member of TraceStatistics.
const char* NameOf(Counter counter);

}  // namespace hbbp::trace

#endif  // HBBP_LIB_TRACE_COUNTER_H_
