// Profiles processes from outside: nothing is loaded into them.
#ifndef HBBP_TOOLS_RECORD_OUTSIDE_H_
#define HBBP_TOOLS_RECORD_OUTSIDE_H_

#include "base/status.h"
#include "record/collect.h"
#include "record/launch.h"
#include "record/record_options.h"

namespace hbbp::tools {

struct OutsideRun {
  ProgramEnd end;
  RunProfiles stored;  // has the root
};

// Runs the command to its end, or waits for the end of the processes, and stores the profile of the
// root at record.output.
Status ObserveFromOutside(const RecordOptions& record, OutsideRun* run);

}  // namespace hbbp::tools

#endif  // HBBP_TOOLS_RECORD_OUTSIDE_H_
