// Profiles a process from outside: nothing is loaded into it.
#ifndef HBBP_TOOLS_RECORD_OUTSIDE_H_
#define HBBP_TOOLS_RECORD_OUTSIDE_H_

#include "base/status.h"
#include "record/collect.h"
#include "record/launch.h"
#include "record/record_options.h"

namespace hbbp::tools {

struct OutsideRun {
  ProgramEnd end;
  RunProfiles stored;  // has one process
};

// Runs the command to its end, or waits for the end of the process, and stores the profile at
// record.output.
Status ObserveFromOutside(const RecordOptions& record, OutsideRun* run);

}  // namespace hbbp::tools

#endif  // HBBP_TOOLS_RECORD_OUTSIDE_H_
