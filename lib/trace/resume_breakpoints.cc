#include "trace/resume_breakpoints.h"

#include <signal.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstddef>

#include "trace/native/signal_context.h"
#include "trace/restartable_sequence.h"
#include "trace/signal_chain.h"
#include "trace/signal_data.h"

namespace hbbp::trace {
namespace {

constexpr uint64_t kSystemCallLength = 2;

// Returns whether the thread, as far as the look-ahead has followed it, will be in a restartable
// sequence at `address`.
bool EntersSequenceAt(LookAhead* look_ahead, uint64_t address) {
  const uint64_t current = AddressOfCurrentSequence(look_ahead->state().fs_base);
  uint64_t descriptor = 0, start = 0, length = 0;
  if (current == 0 || !look_ahead->ReadQword(current, &descriptor) || descriptor == 0) return false;
  return look_ahead->ReadQword(descriptor + offsetof(SequenceDescriptor, start_ip), &start) &&
         look_ahead->ReadQword(descriptor + offsetof(SequenceDescriptor, post_commit_offset),
                               &length) &&
         address - start < length;
}

// Returns whether the system call in front of which the look-ahead has stopped is one that blocks
// SIGTRAP, as the C library does around the start and the end of a thread. The hit behind it would
// come too late, and a debug exception that the kernel cannot explain would end the program.
bool BlocksTrap(LookAhead* look_ahead) {
  const MachineState& state = look_ahead->state();
  constexpr uint64_t kTrapBit = uint64_t{1} << (SIGTRAP - 1);
  const uint64_t how = state.gpr[kRdi], set = state.gpr[kRsi];
  if (state.gpr[kRax] != SYS_rt_sigprocmask || how == SIG_UNBLOCK || set == 0) return false;
  uint64_t signals = 0;
  return !look_ahead->ReadQword(set, &signals) || (signals & kTrapBit) != 0;
}

}  // namespace

ResumePoint FindResumePoint(LookAhead* look_ahead, const RunResult& result) {
  const MachineState& state = look_ahead->state();
  ResumePoint point;
  point.knows_stack = (state.poison & GprBit(kRsp)) == 0;
  point.stack_pointer = state.gpr[kRsp];
  switch (result.reason) {
    case StopReason::kDynamicBranch:
    case StopReason::kUnknownBranch:
    case StopReason::kUnknownStore:
      point.address = result.ip;
      break;
    case StopReason::kSystemCall:
      // rt_sigreturn continues where a signal came, and not after itself.
      if (state.gpr[kRax] == SYS_rt_sigreturn || BlocksTrap(look_ahead)) break;
      point.address = result.ip + kSystemCallLength;
      point.passed = 1;
      break;
    case StopReason::kInVdso:
      // A call has just led to the vdso, unless the burst began inside.
      if (result.instructions == 0 || !point.knows_stack ||
          !look_ahead->ReadQword(point.stack_pointer, &point.address)) {
        point.address = 0;
      }
      point.stack_pointer += sizeof(uint64_t);
      break;
    default:
      break;
  }
  if (point.address != 0 && EntersSequenceAt(look_ahead, point.address)) point.address = 0;
  return point;
}

void ResumeBreakpoints::Configure(uint32_t session, bool may_use_breakpoints,
                                  bool uses_real_time_signals) {
  session_ = session;
  may_use_breakpoints_ = may_use_breakpoints;
  uses_real_time_signals_ = uses_real_time_signals;
}

WalkEnd ResumeBreakpoints::Arm(ThreadSlot* slot, const ResumePoint& point,
                               ucontext_t* context) const {
  slot->expects_stack = point.knows_stack;
  slot->stack_pointer = point.stack_pointer;
  slot->instructions += point.passed;
  if (!ArmAt(slot, point.address)) return WalkEnd::kBurstEnds;
  if (point.address == Ip(*context)) PassBreakpointOnce(context);
  slot->has_breakpoint.store(1);
  slot->is_waiting = true;
  slot->foreign_hits = 0;
  return WalkEnd::kWaits;
}

bool ResumeBreakpoints::ArmAt(ThreadSlot* slot, uint64_t address) const {
  if (!may_use_breakpoints_) {
    slot->Add(Counter::kBreakpointRefused);
    return false;
  }
  // The handler of the hit would hit the breakpoint again.
  if (IsAtSignalEdge(address)) {
    slot->Add(Counter::kInOwnCode);
    return false;
  }
  if (IsInRestartableSequence(address)) {
    slot->Add(Counter::kRestartableSequence);
    return false;
  }
  const uint64_t signal_data =
      MakeSignalData(session_, SignalKind::kBreakpointHit, slots_->IndexOf(slot));
  const int error_number =
      slot->breakpoint.Arm(address, signal_data, uses_real_time_signals_ ? kBreakpointSignal : 0);
  if (error_number == 0) return true;
  const bool all_are_taken = error_number == ENOSPC || error_number == EBUSY;
  slot->Add(all_are_taken            ? Counter::kNoDebugRegister
            : error_number == EMFILE ? Counter::kNoDescriptor
                                     : Counter::kBreakpointRefused);
  return false;
}

void ResumeBreakpoints::Disarm(ThreadSlot* slot) {
  slot->breakpoint.Disarm();
  slot->has_breakpoint.store(0);
}

}  // namespace hbbp::trace
