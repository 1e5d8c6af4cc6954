// ResumeBreakpoints: has the program come to us again where a burst is to go on.
//
// A walk that cannot say where the program goes ends in front of a resume point. The breakpoint of
// the thread is armed there, the handler returns, and the program runs to it by itself; the walk
// then continues from the registers that the program really has.
//
// Contract: async-signal-safe, called by the thread of the slot; Configure is the worker's, while
// tracing is disabled.
#ifndef HBBP_LIB_TRACE_RESUME_BREAKPOINTS_H_
#define HBBP_LIB_TRACE_RESUME_BREAKPOINTS_H_

#include <ucontext.h>

#include <cstdint>

#include "trace/interpreter/look_ahead.h"
#include "trace/thread_slots.h"

namespace hbbp::trace {

// Address 0: there is none.
struct ResumePoint {
  uint64_t address = 0;
  // What the stack pointer must be there, if it is known: another one is that of another frame.
  bool knows_stack = false;
  uint64_t stack_pointer = 0;
  uint32_t passed = 0;  // instructions in front of it that were not interpreted
};

// Where the program can be met again after the look-ahead has stopped with `result`.
ResumePoint FindResumePoint(LookAhead* look_ahead, const RunResult& result);

// What becomes of the burst when a walk returns.
enum class WalkEnd : uint8_t {
  kWaits,           // for the breakpoint at its resume point
  kBurstEnds,       // full, or for a reason that was counted
  kStackOverflowed  // of the interpreter: what it said cannot be trusted
};

class ResumeBreakpoints {
 public:
  constexpr explicit ResumeBreakpoints(const ThreadSlots* slots) : slots_(slots) {}

  // `session`: that signals of hits are to carry.
  void Configure(uint32_t session, bool may_use_breakpoints, bool uses_real_time_signals);

  // The program, which is at `context` now, stops at `point` next. kBurstEnds, with the reason
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

// The program goes on over a breakpoint at the very instruction that it goes on with. After a hit
// the kernel has set the flag already; after a sample it has not.
inline void PassBreakpointOnce(ucontext_t* context) {
  constexpr greg_t kResumeFlag = 1 << 16;
  context->uc_mcontext.gregs[REG_EFL] |= kResumeFlag;
}

}  // namespace hbbp::trace

#endif  // HBBP_LIB_TRACE_RESUME_BREAKPOINTS_H_
