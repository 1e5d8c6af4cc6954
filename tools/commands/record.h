// What hbbp record does, for commands that use what it records.
#ifndef HBBP_TOOLS_COMMANDS_RECORD_H_
#define HBBP_TOOLS_COMMANDS_RECORD_H_

#include "record/record_options.h"

namespace hbbp::tools {

// Returns the exit status of hbbp record with these options, and prints what it prints.
int Record(RecordOptions record);

}  // namespace hbbp::tools

#endif  // HBBP_TOOLS_COMMANDS_RECORD_H_
