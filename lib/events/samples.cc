#include "events/samples.h"

namespace hbbp {

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
