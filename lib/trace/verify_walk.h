// VerifyWalk does what both other walks do. It interprets to the next branch that the code alone
// does not resolve, lets the program run there with a breakpoint, and compares its prediction with
// what the program does: its registers, and the direction and target of the branch.
//
// Where they differ, it finds out whether the program had been disturbed since the prediction (by
// another thread or a signal handler), or whether the prediction is wrong.
//
// Contract: Begin, Continue and Release are async-signal-safe and called by the thread of the slot;
// the worker calls Release for a thread that has ended. Only the worker calls the other functions.
#ifndef HBBP_LIB_TRACE_VERIFY_WALK_H_
#define HBBP_LIB_TRACE_VERIFY_WALK_H_

#include <ucontext.h>

#include <atomic>

#include "trace/burst_recorder.h"
#include "trace/disagreement_log.h"
#include "trace/look_ahead_pool.h"
#include "trace/resume_breakpoints.h"
#include "trace/thread_slots.h"

namespace hbbp::trace {

struct BranchOutcome;

class VerifyWalk {
 public:
  constexpr VerifyWalk(const ThreadSlots* slots, BurstRecorder* recorder,
                       const ResumeBreakpoints* breakpoints, LookAheadPool* look_aheads)
      : slots_(slots), recorder_(recorder), breakpoints_(breakpoints), look_aheads_(look_aheads) {}

  // Call Begin at a sample, and Continue at each hit of the breakpoint since.
  WalkEnd Begin(ThreadSlot* slot, ucontext_t* context);
  WalkEnd Continue(ThreadSlot* slot, ucontext_t* context);
  // Releases, at the end of the burst, the look-ahead that was kept for it.
  void Release(ThreadSlot* slot);

  // Sets whether other threads, or processes that share memory with this one, may store to what
  // bursts read.
  void SetOthersStore(bool others_store) {
    others_store_.store(others_store, std::memory_order_relaxed);
  }
  // Sets whether the signal of a hit may come some instructions behind it, as a signal that is not
  // synchronous does. Registers other than those predicted end a burst then, and show no error.
  void SetHitsMayBeLate(bool may_be_late) { hits_may_be_late_ = may_be_late; }
  void ResetLog() { log_.Reset(); }
  const DisagreementLog& log() const { return log_; }

 private:
  WalkEnd Restart(ThreadSlot* slot, ucontext_t* context);
  WalkEnd Predict(ThreadSlot* slot, const BranchOutcome* found, ucontext_t* context);
  WalkEnd Run(ThreadSlot* slot, const BranchOutcome* found, ucontext_t* context);
  bool OthersMayStore() const;
  Divergence FindDivergence(ThreadSlot* slot, const MachineState& found) const;

  const ThreadSlots* slots_;
  BurstRecorder* recorder_;
  const ResumeBreakpoints* breakpoints_;
  LookAheadPool* look_aheads_;
  DisagreementLog log_;
  std::atomic<bool> others_store_{false};
  bool hits_may_be_late_ = false;
};

}  // namespace hbbp::trace

#endif  // HBBP_LIB_TRACE_VERIFY_WALK_H_
