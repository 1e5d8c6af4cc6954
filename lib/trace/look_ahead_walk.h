// LookAheadWalk interprets the program from where it is to where the burst is full. It waits with a
// breakpoint for a branch that depends on an unknown value and for a system call, and interprets on
// from the registers that the program then has.
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

  // Walks from where the program is now.
  WalkEnd Walk(ThreadSlot* slot, ucontext_t* context);

 private:
  WalkEnd Run(LookAhead* look_ahead, ThreadSlot* slot, ucontext_t* context);

  BurstRecorder* recorder_;
  const ResumeBreakpoints* breakpoints_;
  LookAheadPool* look_aheads_;
};

}  // namespace hbbp::trace

#endif  // HBBP_LIB_TRACE_LOOK_AHEAD_WALK_H_
