// Decides whether a program can be recorded from inside, before it is run.
#ifndef HBBP_TOOLS_RECORD_TARGET_H_
#define HBBP_TOOLS_RECORD_TARGET_H_

#include <string>

#include "base/status.h"
#include "record/record_options.h"

namespace hbbp::tools {

// Sets record->is_outside for a command into which libhbbp-preload.so cannot be loaded, and `note`
// to the reason. It is an error if the command cannot be recorded at all, or not as requested.
Status ChooseSide(RecordOptions* record, std::string* note);

}  // namespace hbbp::tools

#endif  // HBBP_TOOLS_RECORD_TARGET_H_
