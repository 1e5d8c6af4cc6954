// LookAheadWalk: interprets the program ahead of it, from where it is to where the burst is full. A
// branch that depends on something unknown, and a system call, are waited for with a breakpoint;
// what comes after them is interpreted from the registers that the program has then.
//
// Contract: async-signal-safe, called by the thread of the slot.
#ifndef HBBP_LIB_TRACE_LOOK_AHEAD_WALK_H_
#define HBBP_LIB_TRACE_LOOK_AHEAD_WALK_H_

#include <ucontext.h>

#include "trace/burst_recorder.h"
#include "trace/look_ahead_pool.h"
#include "trace/resume_breakpoints.h"

namespace hbbp::trace {

class LookAheadWalk {
 public:
  constexpr LookAheadWalk(BurstRecorder* recorder, const ResumeBreakpoints* breakpoints,
                          LookAheadPool* look_aheads)
      : recorder_(recorder), breakpoints_(breakpoints), look_aheads_(look_aheads) {}

  // From where the program is now.
  WalkEnd Walk(ThreadSlot* slot, ucontext_t* context);

 private:
  WalkEnd Run(LookAhead* look_ahead, ThreadSlot* slot, ucontext_t* context);

  BurstRecorder* recorder_;
  const ResumeBreakpoints* breakpoints_;
  LookAheadPool* look_aheads_;
};

}  // namespace hbbp::trace

#endif  // HBBP_LIB_TRACE_LOOK_AHEAD_WALK_H_
