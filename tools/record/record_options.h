// The options of hbbp record.
#ifndef HBBP_TOOLS_RECORD_RECORD_OPTIONS_H_
#define HBBP_TOOLS_RECORD_RECORD_OPTIONS_H_

#include <sys/types.h>

#include <cstdint>
#include <hbbp/hbbp.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "options.h"

namespace hbbp::tools {

struct RecordOptions {
  std::string output = kDefaultProfile;
  std::string source = "auto";
  std::string event = "auto";
  hbbp_event_code event_code = {};  // set if `event` is not one of hbbp_event
  std::string period_mode = "prime";
  std::string ebs_method = "plain";
  std::string trace_mode;  // empty: not given
  uint64_t burst = 0;
  uint64_t period = 0;
  uint64_t branch_period = 0;
  uint64_t frequency_hz = 0;
  uint64_t expected_seconds = 0;
  double duration_s = 0;
  bool kernel = false;
  bool imprecise = false;
  std::string time_quantum;  // as it was given; empty: no slices
  uint64_t slice_ns = 0;
  bool per_thread = false;
  bool merge = false;        // one profile of all processes
  std::string max_overhead;  // as it was given; empty: no limit, also below
  double max_overhead_share = 0;
  std::string max_memory;
  uint64_t max_memory_bytes = 0;
  std::string keep_bursts;  // as it was given; empty: they are not kept
  uint64_t kept_burst_bytes = 0;
  bool keep_accesses = false;
  std::string keep_values;   // as it was given
  uint32_t kept_values = 0;  // HBBP_VALUE_*
  std::string pid_list;      // as it was given
  std::vector<pid_t> pids;   // running processes; if there are none, `command` is run
  std::string cgroup;        // whose processes are observed
  bool children = false;     // also what the observed processes start
  bool is_outside = false;   // `command` is observed from outside
  // The caller reads the profile and removes it, so that the summary does not name it.
  bool is_temporary = false;
  std::vector<std::string> command;
};

// See Options::Parse.
std::optional<int> ParseRecordOptions(int argc, char** argv, RecordOptions* record);

// Finds the code of an event without a name of hbbp's own.
Status FindEventOf(RecordOptions* record);

// Parses --time-quantum.
Status FindSlices(RecordOptions* record);

// Parses --max-overhead, --max-memory and --keep-bursts.
Status FindBudgets(RecordOptions* record);

// Parses --keep-values.
Status FindKeptValues(RecordOptions* record);

// Parses --pid.
Status FindPids(RecordOptions* record);

// Checks whether the options go together, and whether this machine supports them.
Status CheckRecordOptions(const RecordOptions& record);

// Returns whether processes that run already are observed, and no command is run.
bool ObservesRunning(const RecordOptions& record);

// Returns whether software branch tracing is requested by name.
bool TracesBranches(const RecordOptions& record);

// The result has pointers into `record`.
hbbp_session_options SessionOptionsOf(const RecordOptions& record);

}  // namespace hbbp::tools

#endif  // HBBP_TOOLS_RECORD_RECORD_OPTIONS_H_
