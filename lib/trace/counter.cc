#include "trace/counter.h"

namespace hbbp::trace {

const char* NameOf(Counter counter) {
  switch (counter) {
    case Counter::kSamples:
      return "samples";
    case Counter::kRegistersDisagree:
      return "registers-disagree";
    case Counter::kDisagreementReadsNotKept:
      return "disagreement-reads-not-kept";
    case Counter::kDisagreementMemoryChanged:
      return "disagreement-memory-changed";
    case Counter::kDisagreementCodeChanged:
      return "disagreement-code-changed";
    case Counter::kDisagreementSignal:
      return "disagreement-signal";
    case Counter::kDisagreementAtomic:
      return "disagreement-atomic";
    case Counter::kOverBudget:
      return "over-budget";
    case Counter::kLeftOut:
      return "left-out";
    case Counter::kSignalWasBlocked:
      return "signal-was-blocked";
    case Counter::kInKernel:
      return "in-kernel";
    case Counter::kSampleDuringBurst:
      return "sample-during-burst";
    case Counter::kNoFreeSlot:
      return "no-free-slot";
    case Counter::kNoFreeBuffer:
      return "no-free-buffer";
    case Counter::kNoFreeInterpreter:
      return "no-free-interpreter";
    case Counter::kStackTooSmall:
      return "stack-too-small";
    case Counter::kBreakpointLost:
      return "breakpoint-lost";
    case Counter::kHitInOtherFrame:
      return "hit-in-other-frame";
    case Counter::kInOwnCode:
      return "in-own-code";
    case Counter::kHitElsewhere:
      return "hit-elsewhere";
    case Counter::kStrayTraps:
      return "stray-traps";
    case Counter::kNoDebugRegister:
      return "no-debug-register";
    case Counter::kNoDescriptor:
      return "no-descriptor";
    case Counter::kBreakpointRefused:
      return "breakpoint-refused";
    case Counter::kTooManyBreakpoints:
      return "too-many-breakpoints";
    case Counter::kMissingPage:
      return "missing-page";
    case Counter::kInterruptedRead:
      return "interrupted-read";
    case Counter::kRestartableSequence:
      return "restartable-sequence";
    case Counter::kUnknownTarget:
      return "unknown-target";
    case Counter::kNoStream:
      return "no-stream";
    case Counter::kMissedAccesses:
      return "missed-accesses";
    default:
      break;
  }
  if (counter < Counter::kFirstStopReason || counter >= Counter::kCount) return nullptr;
  const auto reason = static_cast<StopReason>(static_cast<int>(counter) -
                                              static_cast<int>(Counter::kFirstStopReason));
  const bool is_the_normal_end =
      reason == StopReason::kFull || reason == StopReason::kDynamicBranch;
  return is_the_normal_end ? nullptr : NameOf(reason);
}

}  // namespace hbbp::trace
