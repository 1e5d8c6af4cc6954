// Prints the summary at the end of hbbp record.
#ifndef HBBP_TOOLS_RECORD_SUMMARY_H_
#define HBBP_TOOLS_RECORD_SUMMARY_H_

#include <string>

#include "base/status.h"
#include "record/collect.h"
#include "record/launch.h"
#include "record/record_options.h"

namespace hbbp::tools {

// `run` has the program's own profile.
void PrintRecordSummary(const RecordOptions& record, const ProgramEnd& end, const RunProfiles& run);

// Returns "SIGKILL" for 9.
std::string SignalName(int signal);

}  // namespace hbbp::tools

#endif  // HBBP_TOOLS_RECORD_SUMMARY_H_
