// Whether a program can be recorded from inside, known before it is run.
#ifndef HBBP_TOOLS_RECORD_TARGET_H_
#define HBBP_TOOLS_RECORD_TARGET_H_

#include <string>

#include "base/status.h"
#include "record/record_options.h"

namespace hbbp::tools {

// Sets record->is_outside for a command into which libhbbp-preload.so cannot be loaded, and `note`
// to the reason. Error: then it cannot be recorded at all, or not in the way that was asked for.
Status ChooseSide(RecordOptions* record, std::string* note);

}  // namespace hbbp::tools

#endif  // HBBP_TOOLS_RECORD_TARGET_H_
