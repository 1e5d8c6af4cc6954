// Prints the summary at the end of hbbp record.
#ifndef HBBP_TOOLS_RECORD_SUMMARY_H_
#define HBBP_TOOLS_RECORD_SUMMARY_H_

#include <sys/types.h>

#include <string>

#include "base/status.h"
#include "record/collect.h"
#include "record/launch.h"
#include "record/record_options.h"

namespace hbbp::tools {

// `run` has the program's own profile.
void PrintRecordSummary(const RecordOptions& record, const ProgramEnd& end, const RunProfiles& run);

// Says where the profiles of processes that outlive the program will be.
void ReportRunningProcesses(const RecordOptions& record, const std::vector<pid_t>& running);

// Returns "SIGKILL" for 9.
std::string SignalName(int signal);

}  // namespace hbbp::tools

#endif  // HBBP_TOOLS_RECORD_SUMMARY_H_
