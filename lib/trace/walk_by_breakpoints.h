// WalkByBreakpoints implements algorithm 1 of Marin, Alexandrov and Moseley, "Break Dancing". It
// records branches that the code alone resolves at once; for any other branch the program runs to a
// breakpoint in a debug register, and its registers there give direction and target.
//
// Contract: async-signal-safe, called by the thread of the slot.
#ifndef HBBP_LIB_TRACE_WALK_BY_BREAKPOINTS_H_
#define HBBP_LIB_TRACE_WALK_BY_BREAKPOINTS_H_

#include <ucontext.h>

#include "trace/burst_recorder.h"
#include "trace/resume_breakpoints.h"

namespace hbbp::trace {

class WalkByBreakpoints {
 public:
  constexpr WalkByBreakpoints(BurstRecorder* recorder, const ResumeBreakpoints* breakpoints)
      : recorder_(recorder), breakpoints_(breakpoints) {}

  // Walks from where the program is now to the next branch that the code alone does not resolve.
  WalkEnd Walk(ThreadSlot* slot, ucontext_t* context);

 private:
  BurstRecorder* recorder_;
  const ResumeBreakpoints* breakpoints_;
};

}  // namespace hbbp::trace

#endif  // HBBP_LIB_TRACE_WALK_BY_BREAKPOINTS_H_
