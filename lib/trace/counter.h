// Counter is what the tracer counts: its work, and why samples made no burst or bursts ended early.
#ifndef HBBP_LIB_TRACE_COUNTER_H_
#define HBBP_LIB_TRACE_COUNTER_H_

#include <cstdint>

#include "trace/interpreter/stop_reason.h"

namespace hbbp::trace {

// Reasons for the end of a burst follow kFirstStopReason.
enum class Counter : uint8_t {
  kSamples,  // signals of the sampling event
  kBursts,   // bursts of at least two taken branches
  kTakenBranches,
  kBreakpoints,               // hits in the right frame
  kInstructions,              // interpreted instructions
  kDecoded,                   // instructions that the code cache did not have
  kHandlerNs,                 // CPU time
  kOverBudget,                // samples skipped because earlier ones had cost too much
  kLeftOut,                   // samples that begin no burst, after the first samples of a session
  kVerified,                  // branches whose prediction was compared with the program
  kDisagreements,             // verified branches with a wrong direction or target
  kDisagreementReadsNotKept,  // the same in bursts that keep no reads to find the reason
  kRegistersDisagree,         // verified branches with wrong registers
  // These predictions were wrong because the program had been disturbed since.
  kDisagreementMemoryChanged,
  kDisagreementCodeChanged,
  kDisagreementSignal,
  kDisagreementAtomic,
  // These say why a sample made no burst, or a burst ended early.
  kSignalWasBlocked,   // the sample was later than the event
  kInKernel,           // a timer expired in a system call
  kSampleDuringBurst,  // the last burst still waits for its breakpoint
  kNoFreeSlot,         // more threads ran than can be traced at once
  kNoFreeBuffer,
  kNoFreeInterpreter,
  kStackTooSmall,
  kBreakpointLost,  // it was never hit: the program took another path (longjmp, thread end, signal)
  kHitInOtherFrame,    // a signal handler or coroutine hit it; the burst still waits
  kInOwnCode,          // the breakpoint would be in a handler of the library
  kHitElsewhere,       // the registers are not those at the breakpoint
  kStrayTraps,         // debug exceptions that the kernel could not explain
  kNoDebugRegister,    // all are in use, perhaps by a debugger
  kNoDescriptor,       // the program may need every descriptor
  kBreakpointRefused,  // it failed for another reason, or the mode has no breakpoints
  kTooManyBreakpoints,
  kMissingPage,          // the page is not in memory, and reading it might block
  kInterruptedRead,      // a read that blocked was interrupted
  kRestartableSequence,  // a breakpoint there would abort it each time
  kUnknownTarget,        // the memory that holds it could not be read
  kNoStream,             // a burst with all its instructions had no two taken branches
  kMissedAccesses,       // accesses to memory that found no room
  kFirstStopReason,
  kCount = kFirstStopReason + static_cast<int>(StopReason::kCount)
};
inline constexpr int kCounters = static_cast<int>(Counter::kCount);

constexpr Counter CounterOf(StopReason reason) {
  return static_cast<Counter>(static_cast<int>(Counter::kFirstStopReason) +
                              static_cast<int>(reason));
}

// Returns a name such as "breakpoint-lost" or "unknown-branch", or nullptr for a counter that is a
// member of TraceStatistics.
const char* NameOf(Counter counter);

}  // namespace hbbp::trace

#endif  // HBBP_LIB_TRACE_COUNTER_H_
