// VerifyWalk: both other walks at once. It interprets to the next branch that the code alone does
// not resolve, has the program run there with a breakpoint, and compares what it predicted with
// what the program does: its registers, and the direction and target of the branch.
//
// Where they differ, it finds out whether the program had been disturbed since it was predicted
// (another thread, a signal handler), or whether it is a mistake.
//
// Contract: Begin, Continue and Release are async-signal-safe and called by the thread of the slot;
// Release by the worker for a thread that has ended. Everything else is the worker's.
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

  // At a sample, and at each hit of the breakpoint since.
  WalkEnd Begin(ThreadSlot* slot, ucontext_t* context);
  WalkEnd Continue(ThreadSlot* slot, ucontext_t* context);
  // At the end of the burst: the look-ahead that was kept for it.
  void Release(ThreadSlot* slot);

  // Other threads, or processes that share memory with this one, may store to what bursts read?
  void SetOthersStore(bool others_store) {
    others_store_.store(others_store, std::memory_order_relaxed);
  }
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
};

}  // namespace hbbp::trace

#endif  // HBBP_LIB_TRACE_VERIFY_WALK_H_
