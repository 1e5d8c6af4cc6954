#include "trace/look_ahead_walk.h"

#include "trace/native/signal_context.h"
#include "trace/signal_chain.h"

namespace hbbp::trace {
namespace {

// A burst ends early rather than cost more breakpoints.
constexpr uint32_t kMaxBreakpoints = 64;

}  // namespace

WalkEnd LookAheadWalk::Walk(ThreadSlot* slot, ucontext_t* context) {
  if (slot->hits >= kMaxBreakpoints) {
    slot->Add(Counter::kTooManyBreakpoints);
    return WalkEnd::kBurstEnds;
  }
  LookAhead* look_ahead = look_aheads_->Acquire();
  if (look_ahead == nullptr) {
    slot->Add(Counter::kNoFreeInterpreter);
    return WalkEnd::kBurstEnds;
  }
  look_ahead->Begin(*context, FaultsAreCaught(context->uc_sigmask));
  const bool begins = slot->instructions == 0 && slot->hits == 0;
  const WalkEnd end = Run(look_ahead, slot, context);
  if (begins) {
    slot->begins_in_new_page = look_ahead->stats().begins_in_new_page;
    slot->width_ticks = look_ahead->MeasureWidth();
  }
  LookAheadPool::CountWork(*look_ahead, slot);
  look_aheads_->Release(look_ahead);
  return end;
}

WalkEnd LookAheadWalk::Run(LookAhead* look_ahead, ThreadSlot* slot, ucontext_t* context) {
  RunResult result;
  do {
    uint32_t capacity;
    TakenBranch* room = recorder_->Room(slot, &capacity);
    if (room == nullptr) return WalkEnd::kBurstEnds;
    result = look_ahead->Run(room, capacity, recorder_->InstructionsLeft(*slot));
    if (result.reason == StopReason::kStackOverflow) return WalkEnd::kStackOverflowed;
    recorder_->CountRun(slot, result);
    recorder_->RecordAccesses(slot, room, result, look_ahead->access_log());
    if (recorder_->IsFull(*slot)) return WalkEnd::kBurstEnds;
  } while (result.reason == StopReason::kFull || (result.reason == StopReason::kInstructionLimit &&
                                                  recorder_->InstructionsLeft(*slot) != 0));
  slot->Add(CounterOf(result.reason));
  slot->is_limited = IsLimit(result.reason);
  const ResumePoint point = FindResumePoint(look_ahead, result);
  const bool got_nowhere = result.instructions == 0 && point.address == Ip(*context);
  if (point.address == 0 || got_nowhere) return WalkEnd::kBurstEnds;
  const bool skips_code = result.reason == StopReason::kInVdso;
  if (skips_code && !recorder_->StartNextPart(slot, PartEnd::kAfterGap)) return WalkEnd::kBurstEnds;
  return breakpoints_->Arm(slot, point, context);
}

}  // namespace hbbp::trace
