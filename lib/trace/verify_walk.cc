#include "trace/verify_walk.h"

#include "trace/branch.h"
#include "trace/code_walk.h"
#include "trace/native/signal_context.h"
#include "trace/signal_chain.h"

namespace hbbp::trace {
namespace {

// Returns whether the target of a taken branch, if it is in memory, is what the burst has there.
bool TargetMatches(LookAhead* look_ahead, const Branch& branch, const MachineState& state,
                   const BranchOutcome& found) {
  if (!found.taken || branch.target.kind != TargetExpression::kMemory) return true;
  uint64_t predicted = 0;
  return look_ahead->ReadQword(TargetAddress(branch.target, state), &predicted) &&
         predicted == found.next;
}

Counter DisagreementCounter(Divergence divergence) {
  switch (divergence) {
    case Divergence::kMemoryChanged:
      return Counter::kDisagreementMemoryChanged;
    case Divergence::kCodeChanged:
      return Counter::kDisagreementCodeChanged;
    case Divergence::kOtherPath:
      return Counter::kDisagreementSignal;
    case Divergence::kAtomic:
      return Counter::kDisagreementAtomic;
    case Divergence::kReadsNotKept:
      return Counter::kDisagreementReadsNotKept;
    default:
      return Counter::kDisagreements;
  }
}

}  // namespace

WalkEnd VerifyWalk::Begin(ThreadSlot* slot, ucontext_t* context) {
  slot->look_ahead = look_aheads_->Acquire();
  if (slot->look_ahead == nullptr) {
    slot->Add(Counter::kNoFreeInterpreter);
    return WalkEnd::kBurstEnds;
  }
  // Every second burst loads as unverified bursts do, unless there may be races to find.
  slot->keeps_reads = !slot->keeps_reads || OthersMayStore() || HasAsynchronousHandlers();
  return Restart(slot, context);
}

// Starts from the real registers, when there is nothing to compare yet.
WalkEnd VerifyWalk::Restart(ThreadSlot* slot, ucontext_t* context) {
  slot->look_ahead->BeginVerified(*context, FaultsAreCaught(context->uc_sigmask),
                                  slot->keeps_reads);
  slot->divergence = Divergence::kNone;
  slot->verified_to = Ip(*context);
  return Predict(slot, nullptr, context);
}

WalkEnd VerifyWalk::Continue(ThreadSlot* slot, ucontext_t* context) {
  LookAhead* look_ahead = slot->look_ahead;
  if (slot->restarts) {
    LookAheadPool::CountWork(*look_ahead, slot);
    return Restart(slot, context);
  }
  MachineState state;
  LoadGeneralRegisters(*context, &state);
  const bool registers_match = RegistersMatch(look_ahead->state(), state);
  // The thread may be back at the breakpoint, a round of a short loop later.
  if (!registers_match && hits_may_be_late_) {
    slot->Add(Counter::kHitElsewhere);
    LookAheadPool::CountWork(*look_ahead, slot);
    return WalkEnd::kBurstEnds;
  }
  if (!registers_match) slot->Add(Counter::kRegistersDisagree);
  const CodeWalk walk = WalkToBranch(state.rip);
  BranchOutcome found;
  if (walk.reason == StopReason::kDynamicBranch && walk.instructions == 0) {
    found = Evaluate(walk.branch, state);
  }
  if (!found.known) {
    slot->Add(Counter::kUnknownTarget);
    LookAheadPool::CountWork(*look_ahead, slot);
    return WalkEnd::kBurstEnds;
  }
  if (slot->divergence == Divergence::kNone &&
      (!registers_match || !TargetMatches(look_ahead, walk.branch, state, found))) {
    slot->divergence = FindDivergence(slot, state);
    slot->diverged_at = state.rip;
  }
  look_ahead->Continue(*context);
  slot->verified_to = found.next;
  return Predict(slot, &found, context);
}

void VerifyWalk::Release(ThreadSlot* slot) {
  if (slot->look_ahead == nullptr) return;
  look_aheads_->Release(slot->look_ahead);
  slot->look_ahead = nullptr;
}

// Interprets up to the next branch that the code alone does not resolve, and waits there. Compares
// with `found`, which is where the program really continues, unless it is nullptr.
WalkEnd VerifyWalk::Predict(ThreadSlot* slot, const BranchOutcome* found, ucontext_t* context) {
  const WalkEnd end = Run(slot, found, context);
  if (end != WalkEnd::kWaits) LookAheadPool::CountWork(*slot->look_ahead, slot);
  return end;
}

WalkEnd VerifyWalk::Run(ThreadSlot* slot, const BranchOutcome* found, ucontext_t* context) {
  LookAhead* look_ahead = slot->look_ahead;
  const uint64_t ip = look_ahead->state().rip;
  RunResult result;
  do {
    uint32_t capacity;
    TakenBranch* room = recorder_->Room(slot, &capacity);
    if (room == nullptr) return WalkEnd::kBurstEnds;
    result = look_ahead->RunToDynamicBranch(room, capacity, recorder_->InstructionsLeft(*slot));
    if (result.reason == StopReason::kStackOverflow) return WalkEnd::kStackOverflowed;
    if (found != nullptr && result.instructions != 0) {
      const bool predicts_taken = result.branches != 0 && room[0].from == ip;
      const bool is_right =
          predicts_taken == found->taken && (!predicts_taken || room[0].to == found->next);
      slot->Add(Counter::kVerified);
      if (!is_right) {
        slot->Add(DisagreementCounter(slot->divergence));
        const bool has_diverged = slot->divergence != Divergence::kNone;
        log_.Add(has_diverged ? slot->divergence : Divergence::kUnexplained,
                 has_diverged ? slot->diverged_at : ip);
        return WalkEnd::kBurstEnds;
      }
    }
    found = nullptr;
    recorder_->CountRun(slot, result);
    if (recorder_->IsFull(*slot)) return WalkEnd::kBurstEnds;
  } while (result.reason == StopReason::kFull);
  slot->restarts = result.reason != StopReason::kDynamicBranch;
  if (slot->restarts) slot->Add(CounterOf(result.reason));
  slot->is_limited = IsLimit(result.reason);
  const ResumePoint point = FindResumePoint(look_ahead, result);
  const bool got_nowhere = result.instructions == 0 && slot->restarts && point.address == ip;
  if (point.address == 0 || got_nowhere) return WalkEnd::kBurstEnds;
  const bool skips_code = result.reason == StopReason::kInVdso;
  if (skips_code && !recorder_->StartNextPart(slot, PartEnd::kAfterGap)) return WalkEnd::kBurstEnds;
  return breakpoints_->Arm(slot, point, context);
}

// Returns whether other threads or processes may store; handlers of this thread do not count.
bool VerifyWalk::OthersMayStore() const {
  return others_store_.load(std::memory_order_relaxed) || slots_->CountThreads() > 1;
}

// Finds out why the program is in state `found` and not in the predicted one.
Divergence VerifyWalk::FindDivergence(ThreadSlot* slot, const MachineState& found) const {
  const Divergence divergence = slot->look_ahead->FindDivergence(found);
  const bool handler_came_by = slot->foreign_hits != 0;
  const bool is_unexplained =
      divergence == Divergence::kUnexplained || divergence == Divergence::kReadsNotKept;
  const bool has_other_stores = divergence == Divergence::kStoreChanged;
  if ((is_unexplained || has_other_stores) && handler_came_by) return Divergence::kOtherPath;
  const bool others_may_store = OthersMayStore();
  if (has_other_stores) {
    const bool may_be_of_others = others_may_store || HasAsynchronousHandlers();
    return may_be_of_others ? Divergence::kMemoryChanged : Divergence::kUnexplained;
  }
  if (is_unexplained && others_may_store && HasAtomicBefore(found.rip, slot->verified_to)) {
    return Divergence::kAtomic;
  }
  return divergence;
}

}  // namespace hbbp::trace
