#include "trace/walk_by_breakpoints.h"

#include "trace/branch.h"
#include "trace/code_walk.h"
#include "trace/native/signal_context.h"

namespace hbbp::trace {

WalkEnd WalkByBreakpoints::Walk(ThreadSlot* slot, ucontext_t* context) {
  MachineState state;
  LoadGeneralRegisters(*context, &state);
  bool registers_are_known = true;
  ResumePoint point;
  point.knows_stack = true;
  point.stack_pointer = state.gpr[kRsp];
  uint64_t ip = state.rip;
  while (!recorder_->IsFull(*slot)) {
    const CodeWalk walk = WalkToBranch(ip, registers_are_known ? state.gpr[kRax] : kUnknownRax);
    slot->instructions += walk.instructions;
    if (walk.reason != StopReason::kDynamicBranch) {
      slot->Add(CounterOf(walk.reason));
      break;
    }
    if (recorder_->InstructionsLeft(*slot) == 0) {
      slot->Add(CounterOf(StopReason::kInstructionLimit));
      break;
    }
    const Branch& branch = walk.branch;
    registers_are_known = registers_are_known && walk.instructions == 0;
    point.knows_stack = point.knows_stack && walk.knows_stack;
    point.stack_pointer += static_cast<uint64_t>(walk.stack_change);
    if (!IsResolvedByCode(branch) && !registers_are_known) {
      point.address = branch.address;
      return breakpoints_->Arm(slot, point, context);
    }
    const BranchOutcome outcome = Evaluate(branch, state);
    if (!outcome.known) {
      slot->Add(Counter::kUnknownTarget);
      break;
    }
    ++slot->instructions;
    if (outcome.taken && !recorder_->Record(slot, {branch.address, outcome.next})) break;
    // Conditions and plain jumps change no register; changes by calls and returns are not followed.
    const bool changes_stack = branch.stack_change != 0;
    const bool changes_counter =
        branch.condition > Condition::kEcxZero && branch.condition < Condition::kAlways;
    registers_are_known = registers_are_known && !changes_stack && !changes_counter;
    point.stack_pointer += static_cast<uint64_t>(static_cast<int64_t>(branch.stack_change));
    ip = outcome.next;
  }
  return WalkEnd::kBurstEnds;
}

}  // namespace hbbp::trace
