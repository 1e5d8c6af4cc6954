#include "events/samples.h"

namespace hbbp {

const char* SourceName(SourceKind source) {
  switch (source) {
    case SourceKind::kEbs:
      return "ebs";
    case SourceKind::kLbr:
      return "lbr";
    case SourceKind::kIbs:
      return "ibs";
    case SourceKind::kSwbt:
      return "swbt";
    case SourceKind::kTruth:
      return "truth";
    case SourceKind::kCombined:
      return "combined";
    case SourceKind::kNone:
    case SourceKind::kAuto:
    case SourceKind::kEbsAndSwbt:
    case SourceKind::kPerf:
      break;
  }
  return "none";
}

const char* EventName(EventKind event) {
  switch (event) {
    case EventKind::kAuto:
      return "auto";
    case EventKind::kTaskClock:
      return "task-clock";
    case EventKind::kCpuClock:
      return "cpu-clock";
    case EventKind::kInstructions:
      return "instructions";
    case EventKind::kCycles:
      return "cycles";
    case EventKind::kTakenBranches:
      return "taken-branches";
    case EventKind::kOther:
      return "other";
    case EventKind::kUops:
      return "uops";
  }
  return "unknown";
}

Unit UnitOf(EventKind event) {
  switch (event) {
    case EventKind::kInstructions:
      return Unit::kInstructions;
    case EventKind::kCycles:
      return Unit::kCycles;
    case EventKind::kTakenBranches:
      return Unit::kTakenBranches;
    case EventKind::kOther:
      return Unit::kEvents;
    case EventKind::kUops:
      return Unit::kUops;
    default:
      return Unit::kNanoseconds;
  }
}

}  // namespace hbbp
