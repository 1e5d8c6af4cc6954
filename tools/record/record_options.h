// The options of hbbp record.
#ifndef HBBP_TOOLS_RECORD_RECORD_OPTIONS_H_
#define HBBP_TOOLS_RECORD_RECORD_OPTIONS_H_

#include <cstdint>
#include <hbbp/hbbp.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"

namespace hbbp::tools {

struct RecordOptions {
  std::string output = "hbbp.data";
  std::string source = "auto";
  std::string event = "auto";
  hbbp_event_code event_code = {};  // if `event` is none of hbbp_event
  std::string period_mode = "prime";
  std::string ebs_method = "plain";
  std::string trace_mode;  // empty: not asked for
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
  uint64_t pid = 0;         // of a process that runs; 0: `command` is run
  bool is_outside = false;  // `command` is observed from outside
  std::vector<std::string> command;
};

// As Options::Parse.
std::optional<int> ParseRecordOptions(int argc, char** argv, RecordOptions* record);

// The code of an event that has no name of hbbp's own.
Status FindEventOf(RecordOptions* record);

// What --time-quantum means.
Status FindSlices(RecordOptions* record);

// Do they go together, and does this machine have what they ask for?
Status CheckRecordOptions(const RecordOptions& record);

// Does it ask for software branch tracing by name?
bool TracesBranches(const RecordOptions& record);

// Points into `record`.
hbbp_session_options SessionOptionsOf(const RecordOptions& record);

}  // namespace hbbp::tools

#endif  // HBBP_TOOLS_RECORD_RECORD_OPTIONS_H_
