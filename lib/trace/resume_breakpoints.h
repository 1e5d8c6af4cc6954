// ResumeBreakpoints stops the program at the point where a burst is to be resumed.
//
// A walk that cannot determine where the program continues ends before a resume point. The
// breakpoint of the thread is armed there, the handler returns, and the program runs to it by
// itself; the walk then continues from the registers that the program really has.
//
// Contract: async-signal-safe, called by the thread of the slot; only the worker calls Configure,
// while tracing is disabled.
#ifndef HBBP_LIB_TRACE_RESUME_BREAKPOINTS_H_
#define HBBP_LIB_TRACE_RESUME_BREAKPOINTS_H_

#include <ucontext.h>

#include <cstdint>

#include "trace/interpreter/look_ahead.h"
#include "trace/thread_slots.h"

namespace hbbp::trace {

// Address 0 means that there is none.
struct ResumePoint {
  uint64_t address = 0;
  // The stack pointer at the resume point, if it is known. A hit with another one is in another
  // frame.
  bool knows_stack = false;
  uint64_t stack_pointer = 0;
  uint32_t passed = 0;  // instructions before it that were not interpreted
};

// Finds where the program can be stopped after the look-ahead has ended with `result`.
ResumePoint FindResumePoint(LookAhead* look_ahead, const RunResult& result);

// WalkEnd is the state of the burst when a walk returns.
enum class WalkEnd : uint8_t {
  kWaits,           // the burst waits for the breakpoint at its resume point
  kBurstEnds,       // the burst is full or ends for a reason that was counted
  kStackOverflowed  // the stack of the interpreter overflowed: its results cannot be trusted
};

class ResumeBreakpoints {
 public:
  constexpr explicit ResumeBreakpoints(const ThreadSlots* slots) : slots_(slots) {}

  // Signals of hits carry `session`.
  void Configure(uint32_t session, bool may_use_breakpoints, bool uses_real_time_signals);

  // Stops the program, which is at `context` now, at `point`. Returns kBurstEnds, with the reason
  // counted, if it cannot.
  WalkEnd Arm(ThreadSlot* slot, const ResumePoint& point, ucontext_t* context) const;
  static void Disarm(ThreadSlot* slot);

 private:
  bool ArmAt(ThreadSlot* slot, uint64_t address) const;

  const ThreadSlots* slots_;
  uint32_t session_ = 0;
  bool may_use_breakpoints_ = false;
  bool uses_real_time_signals_ = false;
};

// Lets the program pass a breakpoint at the instruction that it resumes with. After a hit the
// kernel has set the flag already; after a sample it has not.
inline void PassBreakpointOnce(ucontext_t* context) {
  constexpr greg_t kResumeFlag = 1 << 16;
  context->uc_mcontext.gregs[REG_EFL] |= kResumeFlag;
}

}  // namespace hbbp::trace

#endif  // HBBP_LIB_TRACE_RESUME_BREAKPOINTS_H_
