// A Report has bounded size: it has the busiest functions and blocks in full, and the rest in sums.
// report_reader.h makes a report, and report_json.h writes it.
#ifndef HBBP_TOOLS_EXPORT_REPORT_H_
#define HBBP_TOOLS_EXPORT_REPORT_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "annotate/ibs_ops.h"
#include "ibs_accesses.h"

namespace hbbp::tools {

inline constexpr uint32_t kNotListed = UINT32_MAX;

struct ReportSource {
  std::string kind;
  std::string event;
  std::string unit;
  uint64_t period = 0;
  uint64_t frequency_hz = 0;
  uint64_t samples = 0;
  uint64_t taken_branches = 0;
  uint64_t lost = 0;
  uint64_t throttled = 0;
  uint64_t unmapped = 0;
  uint64_t unexplained = 0;
  uint64_t superseded = 0;  // in code that another source counts
  std::vector<std::pair<std::string, uint64_t>> unexplained_reasons;
  std::vector<std::pair<std::string, uint64_t>> counters;
  std::string note;
};

struct ReportModule {
  std::string path;
  std::string build_id;
  std::string kind;
  std::string code;
  std::string problem;
  uint64_t samples = 0;
};

struct ReportThread {
  uint32_t pid = 0;
  uint32_t tid = 0;
  std::string name;
  uint64_t samples = 0;
  double instructions = 0;
  double error = 0;
};

// The unit by which executions are distinguished: a thread, or the other threads of a process.
struct ReportTask {
  uint32_t pid = kNotListed;     // kNotListed: of several processes
  uint32_t thread = kNotListed;  // index of the thread
};

// ReportPart is the share of one task in a block.
struct ReportPart {
  uint32_t task = 0;
  double count = 0;
  double error = 0;
};

// ReportProperty is a static property of instructions ("extension") and the values that occur.
struct ReportProperty {
  std::string key;
  std::vector<std::string> values;
};

// ReportTuple has a value of each property, by index. Instructions with the same values share a
// tuple.
using ReportTuple = std::vector<uint32_t>;

struct ReportFunction {
  std::string name;
  uint32_t module = 0;
  uint64_t start = 0;
  uint64_t end = 0;
  double instructions = 0;
  double error = 0;
  uint64_t samples = 0;
  uint32_t file = kNotListed;  // index of the source file that it is in; kNotListed: unknown
  uint32_t first_line = 0;
  uint32_t last_line = 0;
};

// Whether the text of a source file is in the report.
inline constexpr char kSourceRead[] = "read";
inline constexpr char kSourceNewer[] = "newer";       // it is, but the file changed since
inline constexpr char kSourceMissing[] = "missing";   // no such file
inline constexpr char kSourceRefused[] = "refused";   // not named like a source file
inline constexpr char kSourceLeftOut[] = "left-out";  // on request

struct ReportInstruction {
  uint64_t address = 0;
  uint32_t length = 0;
  uint32_t tuple = 0;
  std::string text;
  uint32_t file = kNotListed;  // index of its source file
  uint32_t line = 0;
  uint32_t inlined = kNotListed;  // index of the innermost function that was inlined here
  std::optional<IbsOps> ops = {};      // of IBS; nothing: none was sampled
  std::vector<uint64_t> samples = {};  // by ReportIbs::sampled_events; empty: none
};

struct ReportBlock {
  uint32_t module = 0;
  uint32_t function = 0;
  uint64_t start = 0;
  uint64_t end = 0;
  double count = 0;
  double error = 0;
  uint64_t samples = 0;
  std::string source;
  bool is_biased = false;
  uint32_t loop = kNotListed;     // the innermost one
  std::vector<ReportPart> parts;  // in order of tasks
  std::vector<ReportInstruction> instructions;
};

// ReportEdge says how often control went from the end of a block to the start of one in the same
// function.
struct ReportEdge {
  uint32_t from = 0;  // index of the block
  uint32_t to = 0;
  std::string kind;  // "next", "call" (after it returned), "branch" (taken), "indirect"
  double count = 0;  // NaN: unknown
};

// ReportRest is the sum of blocks that are not listed.
struct ReportRest {
  uint32_t module = 0;
  uint32_t function = kNotListed;
  uint32_t tuple = 0;
  uint32_t task = kNotListed;
  double instructions = 0;
  double error = 0;
};

// Executed instructions by one property, as the library estimates them: errors of sums of blocks
// cannot be derived from the errors of the blocks.
struct ReportMix {
  std::string key;
  std::vector<std::string> values;
  std::vector<double> errors;        // of instructions
  std::vector<double> share_errors;  // of their share, 0 to 1
};

// ReportRatio is a ratio of the whole mix: "bytes-read", 12, "bytes".
struct ReportRatio {
  std::string group;
  std::string name;
  double value = 0;
  std::string unit;
  double error = 0;
};

// ReportTimeline says what ran in each slice of time, by one key.
struct ReportTimeline {
  std::string key;
  std::vector<std::string> values;                // most instructions first
  std::vector<std::vector<double>> instructions;  // of each value, by slice
  uint64_t other_values = 0;                      // number of values that are not listed
};

struct ReportSlices {
  uint64_t width_ns = 0;
  uint64_t count = 0;   // of the profile
  uint64_t joined = 1;  // slices of the profile that are merged into one
  std::vector<uint64_t> samples;
  std::vector<double> instructions;
  double without_time = 0;
  std::vector<ReportTimeline> timelines;
};

// What IBS says of one instruction: a number for each event.
struct ReportIbsRow {
  uint32_t module = 0;
  uint32_t function = kNotListed;
  uint64_t address = 0;  // HBBP_NO_ADDRESS: all of a module whose code is missing
  std::string name;      // of its function, which may be one that is not listed
  std::string text;      // of the instruction
  std::vector<uint64_t> values;
};

struct ReportIbsBucket {
  uint64_t first_cycles = 0;
  uint64_t end_cycles = 0;  // exclusive
  uint64_t samples = 0;
};

struct ReportIbsLatency {
  std::string name;
  std::vector<ReportIbsBucket> buckets;
};

// Loads of one level of memory.
struct ReportIbsLevel {
  std::string name;
  std::vector<ReportIbsBucket> buckets;
};

// The loads of one instruction, by level of memory.
struct ReportIbsLoads {
  uint32_t module = 0;
  uint32_t function = kNotListed;
  uint64_t address = 0;  // like ReportIbsRow::address
  std::string name;
  std::string text;
  std::vector<ReportIbsLevel> levels;
};

// The accesses to memory with the most samples.
struct ReportIbsAccesses {
  std::vector<IbsAccessRow> rows;
  uint64_t row_count = 0;  // of the profile
};

struct ReportIbs {
  std::vector<std::string> events;  // none: no IBS
  std::vector<uint64_t> totals;     // by event
  std::vector<ReportIbsRow> rows;   // the most samples first
  uint64_t row_count = 0;           // of the profile
  std::vector<ReportIbsLatency> latencies;
  std::vector<ReportIbsLoads> loads;  // the most loads first
  uint64_t load_count = 0;            // instructions with loads in the profile
  ReportIbsAccesses lines;
  ReportIbsAccesses pages;
  ReportIbsAccesses objects;
  // Of other sources, whose samples are listed by instruction where ops of IBS are.
  std::vector<std::string> sampled_events;
};

struct ReportLoop {
  uint32_t module = 0;
  uint32_t function = kNotListed;
  uint64_t header = 0;
  uint32_t depth = 0;
  uint32_t parent = kNotListed;
  uint32_t blocks = 0;
  double entries = 0;
  double iterations = 0;
  double trips = 0;  // NaN: unknown
  double trips_error = 0;
  double instructions = 0;
  double error = 0;
  bool is_irreducible = false;
};

struct Report {
  std::vector<std::string> files;
  std::string command;
  std::string host;
  std::string library;  // its version
  uint32_t pid = 0;
  uint64_t start_time_ns = 0;
  uint64_t duration_ns = 0;
  std::string unit;
  std::string estimator;
  bool is_up_to_factor = false;
  std::vector<std::string> caveats;
  std::vector<ReportSource> sources;
  std::vector<ReportModule> modules;
  std::vector<ReportThread> threads;  // most instructions first
  uint64_t thread_count = 0;
  uint64_t process_count = 0;
  std::vector<ReportTask> tasks;  // none: tasks are not distinguished

  double instructions = 0;
  uint64_t function_count = 0;  // with a count; functions has the first of them
  uint64_t block_count = 0;
  uint64_t biased_block_count = 0;
  uint64_t loop_count = 0;

  std::vector<ReportProperty> properties;
  std::vector<ReportTuple> tuples;
  std::vector<ReportFunction> functions;  // most instructions first
  std::vector<ReportBlock> blocks;        // in order of module and address
  std::vector<ReportEdge> edges;          // by function of their blocks
  std::vector<ReportRest> rest;
  std::vector<ReportMix> mixes;
  std::vector<ReportRatio> ratios;
  std::vector<ReportLoop> loops;  // most instructions first
  ReportSlices slices;
  ReportIbs ibs;
  std::vector<std::string> source_files;
  std::vector<std::map<uint32_t, std::string>> source_text;  // of each file: text of lines
  std::vector<std::string> source_states;                    // of each file: kSource...
  std::vector<std::string> source_problems;                  // why text is missing or may be wrong
  std::vector<std::string> inlined;                          // functions
  std::vector<std::string> line_problems;                    // why source lines are missing
};

}  // namespace hbbp::tools

#endif  // HBBP_TOOLS_EXPORT_REPORT_H_
