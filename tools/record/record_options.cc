// Reads the options of hbbp record. ParseRecordOptions reads them; FindEventOf, FindSlices,
// FindBudgets and FindKeptValues interpret the name of an event, the time quantum, the budgets and
// the values that bursts keep; CheckRecordOptions checks that they go together. SessionOptionsOf
// converts them for a session of the C ABI. RunRecord calls these in this order.
#include "record/record_options.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <iterator>

#include "base/files.h"
#include "base/nearest_name.h"
#include "base/quantity.h"
#include "byte_count.h"
#include "options.h"
#include "profile_view.h"
#include "time_quantum.h"

namespace hbbp::tools {
namespace {

struct Named {
  const char* name;
  int32_t value;
};
// There is no name for branch records alone.
constexpr Named kSources[] = {{"auto", HBBP_SOURCE_AUTO},
                              {"ebs", HBBP_SOURCE_EBS},
                              {"lbr", HBBP_SOURCE_LBR},
                              {"ebs,lbr", HBBP_SOURCE_LBR},
                              {"ibs", HBBP_SOURCE_IBS},
                              {"swbt", HBBP_SOURCE_SWBT},
                              {"ebs,swbt", HBBP_SOURCE_EBS_AND_SWBT}};
constexpr Named kTraceModes[] = {{"lookahead", HBBP_TRACE_LOOKAHEAD},
                                 {"breakpoint", HBBP_TRACE_BREAKPOINT},
                                 {"verify", HBBP_TRACE_VERIFY}};
constexpr Named kEvents[] = {{"auto", HBBP_EVENT_AUTO},
                             {"task-clock", HBBP_EVENT_TASK_CLOCK},
                             {"cpu-clock", HBBP_EVENT_CPU_CLOCK},
                             {"instructions", HBBP_EVENT_INSTRUCTIONS},
                             {"cycles", HBBP_EVENT_CYCLES}};
constexpr Named kModes[] = {
    {"prime", HBBP_PERIOD_PRIME}, {"fixed", HBBP_PERIOD_FIXED}, {"random", HBBP_PERIOD_RANDOM}};

constexpr Named kValues[] = {{"divisor", HBBP_VALUE_DIVISOR},
                             {"rdi", HBBP_VALUE_RDI},
                             {"rsi", HBBP_VALUE_RSI},
                             {"rdx", HBBP_VALUE_RDX},
                             {"rcx", HBBP_VALUE_RCX},
                             {"r8", HBBP_VALUE_R8},
                             {"r9", HBBP_VALUE_R9}};
constexpr Named kMethods[] = {{"plain", HBBP_EBS_PLAIN}, {"ip+1", HBBP_EBS_IP_PLUS_ONE}};

template <size_t size>
std::vector<std::string> NamesOf(const Named (&list)[size]) {
  std::vector<std::string> names;
  for (const Named& named : list) names.push_back(named.name);
  return names;
}

template <size_t size>
bool IsIn(const Named (&list)[size], const std::string& name) {
  return std::any_of(std::begin(list), std::end(list),
                     [&name](const Named& named) { return name == named.name; });
}

template <size_t size>
int32_t FindValue(const Named (&list)[size], const std::string& name) {
  for (const Named& named : list) {
    if (name == named.name) return named.value;
  }
  return 0;
}

// The kernel reports only EINVAL for a higher frequency, as for other errors.
Status CheckFrequency(uint64_t frequency_hz) {
  constexpr char kLimit[] = "/proc/sys/kernel/perf_event_max_sample_rate";
  StatusOr<std::string> text = ReadTextFile(kLimit);
  if (!text.ok()) return OkStatus();
  const uint64_t max_hz = std::strtoull(text->c_str(), nullptr, 10);
  if (frequency_hz <= max_hz) return OkStatus();
  return MakeStatus(
      StatusCode::kInvalidArgument, "--freq %llu: kernel.perf_event_max_sample_rate allows %llu",
      static_cast<unsigned long long>(frequency_hz), static_cast<unsigned long long>(max_hz));
}

Status CheckTraceOptions(const RecordOptions& record) {
  if (!TracesBranches(record) && (record.burst != 0 || !record.trace_mode.empty())) {
    return MakeStatus(StatusCode::kInvalidArgument, "%s goes with --source swbt, not with %s",
                      record.burst != 0 ? "--burst" : "--mode", record.source.c_str());
  }
  if (record.burst > HBBP_MAX_BURST_BRANCHES) {
    return MakeStatus(StatusCode::kInvalidArgument, "--burst %llu: at most %d branches",
                      static_cast<unsigned long long>(record.burst), HBBP_MAX_BURST_BRANCHES);
  }
  const bool looks_ahead = record.trace_mode.empty() || record.trace_mode == "lookahead";
  if ((record.keep_accesses || record.kept_values != 0) && !looks_ahead) {
    return MakeStatus(StatusCode::kInvalidArgument, "%s goes with --mode lookahead, not with %s",
                      record.keep_accesses ? "--keep-accesses" : "--keep-values",
                      record.trace_mode.c_str());
  }
  return OkStatus();
}

// These need no code: the session knows the PMU of each.
bool IsIbsEvent(const std::string& event) {
  return event == "ibs_op" || event == "ibs_fetch" || event == "ibs_op,ibs_fetch";
}

// Refuses options that no source of the request would heed.
Status CheckOptionsOfSource(const RecordOptions& record) {
  const std::string& source = record.source;
  const bool is_of_perf = source != "swbt" && source != "ibs";
  const bool has_stacks = source == "lbr" || source == "ebs,lbr" || source == "auto";
  const struct {
    const char* option;
    bool is_given;
    bool has_use;
    const char* users;
  } options[] = {
      {"--branch-period", record.branch_period != 0, has_stacks, "lbr or auto"},
      {"--imprecise", record.imprecise, is_of_perf, "ebs, lbr or auto"},
      {"--ebs-method", record.ebs_method != "plain", is_of_perf, "ebs, lbr or auto"},
      {"--expect", record.expected_seconds != 0, source != "swbt", "ebs, lbr, ibs or auto"},
      {"--event", record.event != "auto" && !IsIbsEvent(record.event), source != "ibs",
       "ebs, lbr, swbt or auto"},
      {"--keep-bursts", !record.keep_bursts.empty(), source != "ibs" && source != "ebs",
       "lbr, swbt or auto"},
      {"--keep-accesses", record.keep_accesses, source == "swbt", "swbt"},
      {"--keep-values", record.kept_values != 0, source == "swbt", "swbt"},
  };
  for (const auto& option : options) {
    if (!option.is_given || option.has_use) continue;
    return MakeStatus(StatusCode::kInvalidArgument, "%s goes with --source %s, not with %s",
                      option.option, option.users, source.c_str());
  }
  if (record.frequency_hz != 0 && record.period_mode != "prime" && source != "swbt") {
    return MakeStatus(StatusCode::kInvalidArgument,
                      "--period-mode %s goes with --period, not with --freq: the kernel chooses "
                      "the periods then",
                      record.period_mode.c_str());
  }
  return OkStatus();
}

Status CheckTarget(const RecordOptions& record) {
  const bool observes_running = ObservesRunning(record);
  if (observes_running && (!record.command.empty() || record.is_outside)) {
    return MakeStatus(StatusCode::kInvalidArgument, "%s: give a process or a command, not both",
                      record.cgroup.empty() ? "--pid" : "--cgroup");
  }
  if (!record.pids.empty() && !record.cgroup.empty()) {
    return MakeStatus(StatusCode::kInvalidArgument, "--pid and --cgroup: give one, not both");
  }
  if (record.children && record.pids.empty() && !record.is_outside) {
    return MakeStatus(StatusCode::kInvalidArgument, "--children goes with --pid and --outside: %s",
                      record.cgroup.empty() ? "what CMD starts is profiled without it"
                                            : "a control group has all of its processes");
  }
  return OkStatus();
}

constexpr double kMinShare = 1e-6;

// Returns 0 for an empty text.
StatusOr<double> ParseOverhead(const std::string& text) {
  if (text.empty()) return 0.0;
  const StatusOr<double> share = ParseShare(text);
  if (!share.ok()) return share.status().Annotate("--max-overhead");
  if (*share > 1) {
    return MakeStatus(StatusCode::kInvalidArgument,
                      "--max-overhead: %s is more than 1, which is 100 %%", text.c_str());
  }
  if (*share >= kMinShare) return *share;
  return MakeStatus(StatusCode::kInvalidArgument,
                    "--max-overhead: %s is less than 0.000001, which leaves no time for samples",
                    text.c_str());
}

}  // namespace

bool ObservesRunning(const RecordOptions& record) {
  return !record.pids.empty() || !record.cgroup.empty();
}

bool TracesBranches(const RecordOptions& record) {
  const hbbp_source_kind source = FindValue(kSources, record.source);
  return source == HBBP_SOURCE_SWBT || source == HBBP_SOURCE_EBS_AND_SWBT;
}

hbbp_session_options SessionOptionsOf(const RecordOptions& record) {
  HBBP_INIT(hbbp_session_options, options);
  options.source = FindValue(kSources, record.source);
  options.trace_mode = FindValue(kTraceModes, record.trace_mode);
  options.burst_branches = static_cast<uint32_t>(record.burst);
  if (IsIn(kEvents, record.event)) {
    options.event = FindValue(kEvents, record.event);
  } else {
    options.event = record.event_code.event;
    options.event_name = record.event.c_str();
    options.event_type = record.event_code.type;
    options.event_config = record.event_code.config;
  }
  options.period_mode = FindValue(kModes, record.period_mode);
  options.period = record.period;
  options.branch_period = record.branch_period;
  options.frequency_hz = record.frequency_hz;
  options.expected_seconds = record.expected_seconds;
  options.include_kernel = record.kernel ? 1 : 0;
  options.imprecise = record.imprecise ? 1 : 0;
  options.ebs_method = FindValue(kMethods, record.ebs_method);
  options.slice_ns = record.slice_ns;
  options.max_overhead = record.max_overhead_share;
  options.max_memory = record.max_memory_bytes;
  options.kept_burst_bytes = record.kept_burst_bytes;
  options.keep_accesses = record.keep_accesses ? 1 : 0;
  options.keep_values = record.kept_values;
  options.pid = record.pids.empty() ? 0 : static_cast<uint64_t>(record.pids.front());
  return options;
}

std::optional<int> ParseRecordOptions(int argc, char** argv, RecordOptions* record) {
  Options options("record", "Profile a program and the processes that it starts");
  options.Value("-o,--output", &record->output, "FILE",
                "where the profile goes (hbbp.data); a profile that is there becomes FILE.old");
  options.Choice("--source", &record->source, NamesOf(kSources),
                 "what observes the program: samples of its instruction pointer (ebs), these and "
                 "the branch records of the hardware (lbr), ops of AMD (ibs), software branch "
                 "tracing (swbt); auto: "
                 "lbr where there is a PMU that has it, else swbt");
  options.Value(
      "-e,--event", &record->event, "EVENT",
      "what a sampling period counts: task-clock, cpu-clock, instructions, cycles, "
      "taken-branches, another event of perf (cache-misses, page-faults), a code (r20c4) or a "
      "name of libpfm4; of ibs: ibs_op, ibs_fetch, or both, ibs_op,ibs_fetch; auto: instructions "
      "where there is a PMU that does not "
      "make context switches slow, else task-clock");
  options.Value(
      "-c,--period", &record->period, "N",
      "occurrences of the event between samples (ns for clocks), such as 250000, 1M or 1e6");
  options.Value("--branch-period", &record->branch_period, "N",
                "lbr: taken branches between branch stacks");
  options.Value("--expect", &record->expected_seconds, "S",
                "how long the program will run, for the periods of hardware events");
  options.Value("-F,--freq", &record->frequency_hz, "HZ",
                "samples a second of CPU time, instead of a period; swbt: of a clock only");
  options.Choice("--period-mode", &record->period_mode, NamesOf(kModes),
                 "how periods avoid to resonate with loops");
  options.Flag("--imprecise", &record->imprecise,
               "ebs: no precise events, even if the PMU has some");
  options.Choice("--ebs-method", &record->ebs_method, NamesOf(kMethods),
                 "ebs: which instruction a sample counts for: that at its address (plain), or the "
                 "one that was executed before, by the newest branch record (ip+1)");
  options.Value(
      "--burst", &record->burst, "N",
      "swbt: taken branches that a sample records, up to 65536 (of instructions and clocks "
      "as many as 6000 instructions have)");
  options.Choice("--mode", &record->trace_mode, NamesOf(kTraceModes),
                 "swbt: how branches are resolved: interpreted ahead (lookahead), by breakpoints, "
                 "or both and compared (verify)");
  options.Value("--time-quantum", &record->time_quantum, "TIME",
                "keep counts by slices of time, such as 100ms or 1s, for hbbp phases");
  options.Value("--keep-bursts", &record->keep_bursts, "BYTES",
                "swbt, lbr: keep whole bursts in so much memory of each process, such as 64M, for "
                "hbbp export --format brstack and hbbp probe");
  options.Flag("--keep-accesses", &record->keep_accesses,
               "swbt: keep bursts (of 64M without --keep-bursts) with the addresses that they "
               "accessed, for hbbp probe");
  options.Value(
      "--keep-values", &record->keep_values, "LIST",
      "swbt: the same with values: divisor, and before calls the registers rdi, rsi, rdx, "
      "rcx, r8, r9, with commas between them");
  options.Seconds("--duration", &record->duration_s, "TIME",
                  "stop profiling after that time, such as 10 (seconds), 500ms or 5m; the program "
                  "goes on to its end");
  options.Value("--max-overhead", &record->max_overhead, "SHARE",
                "of the CPU time of each process that profiling may take, such as 1% or 0.01; "
                "periods become longer to keep to it");
  options.Value(
      "--max-memory", &record->max_memory, "BYTES",
      "that the profile may take in each process while it runs, such as 64M or 1G; periods "
      "become longer to keep to it, and what finds no room is dropped and counted");
  options.Flag("--kernel", &record->kernel, "count kernel code too");
  options.Flag("--merge", &record->merge,
               "one profile of CMD and all processes that it starts, in FILE");
  options.Flag("--per-thread", &record->per_thread, "list the threads in the summary");
  options.Value("-p,--pid", &record->pid_list, "PID,...",
                "profile processes that run, to their end, --duration or Ctrl-C");
  options.Value("--cgroup", &record->cgroup, "NAME",
                "profile the processes of a control group, also those that join it: a unit of "
                "systemd (nginx.service), the scope of a container, or a path");
  options.Flag(
      "--outside", &record->is_outside,
      "observe CMD from outside: nothing is loaded into it, so it may be static or setuid; "
      "not its children");
  options.Flag("--children", &record->children,
               "with --pid and --outside: also the processes that they start or have started");
  options.Command(&record->command, "CMD ARG...", "the program to profile",
                  [record] { return !record->pid_list.empty() || !record->cgroup.empty(); });
  options.Refuse("-g,--call-graph",
                 "callers are not recorded; hbbp import reads recordings of perf record -g");
  options.Refuse("-a,--all-cpus,-C,--cpu",
                 "one program is profiled, or a process (-p); hbbp import reads recordings of perf "
                 "record -a");
  options.Refuse("-j,-b,--branch-filter,--branch-any",
                 "--source lbr takes branch stacks; --source swbt traces branches without a PMU");
  options.Refuse("-t,--tid",
                 "processes are profiled as wholes (-p), and listed by thread "
                 "(--per-thread, hbbp info)");
  options.Refuse("-u,--uid", "profile a process (-p) or a command");
  options.Footer(
      "The profile of CMD goes to FILE, those of processes that it starts to FILE.PID;\n"
      "with --merge, all go to FILE, and hbbp info lists the processes. Of running processes,\n"
      "that of the first goes to FILE.\n"
      "The exit status is that of CMD; 2 if it was not run, because it could not be profiled.");
  const std::optional<int> status = options.Parse(argc, argv);
  const bool keeps_numbers = record->keep_accesses || !record->keep_values.empty();
  if (keeps_numbers && record->keep_bursts.empty()) record->keep_bursts = "64M";
  // Options that only branch tracing has choose it.
  const bool has_trace_options = record->burst != 0 || !record->trace_mode.empty() || keeps_numbers;
  if (record->source == "auto" && has_trace_options) record->source = "swbt";
  return status;
}

Status FindSlices(RecordOptions* record) {
  HBBP_ASSIGN_OR_RETURN(record->slice_ns, ParseTimeQuantum(record->time_quantum));
  return OkStatus();
}

Status FindBudgets(RecordOptions* record) {
  HBBP_ASSIGN_OR_RETURN(record->max_overhead_share, ParseOverhead(record->max_overhead));
  HBBP_ASSIGN_OR_RETURN(record->max_memory_bytes,
                        ParseByteCount("--max-memory", record->max_memory, HBBP_MIN_MEMORY));
  HBBP_ASSIGN_OR_RETURN(
      record->kept_burst_bytes,
      ParseByteCount("--keep-bursts", record->keep_bursts, HBBP_MIN_KEPT_BURST_BYTES));
  return OkStatus();
}

Status FindKeptValues(RecordOptions* record) {
  const std::string& text = record->keep_values;
  for (size_t begin = 0; begin <= text.size() && !text.empty();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    const std::string name = text.substr(begin, end - begin);
    if (!IsIn(kValues, name)) {
      const std::vector<std::string> names = NamesOf(kValues);
      return MakeStatus(StatusCode::kInvalidArgument, "--keep-values: '%s' is not a value of it%s",
                        name.c_str(), DidYouMeanOneOf(name, {names.begin(), names.end()}).c_str());
    }
    record->kept_values |= static_cast<uint32_t>(FindValue(kValues, name));
    begin = end + 1;
  }
  return OkStatus();
}

Status FindPids(RecordOptions* record) {
  const std::string& text = record->pid_list;
  for (size_t begin = 0; begin <= text.size() && !text.empty();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    pid_t pid = 0;
    const auto [rest, error] = std::from_chars(text.data() + begin, text.data() + end, pid);
    if (error != std::errc() || rest != text.data() + end || pid <= 0) {
      return MakeStatus(StatusCode::kInvalidArgument, "--pid: '%s' is not the id of a process",
                        text.substr(begin, end - begin).c_str());
    }
    std::vector<pid_t>& pids = record->pids;
    if (std::find(pids.begin(), pids.end(), pid) == pids.end()) pids.push_back(pid);
    begin = end + 1;
  }
  return OkStatus();
}

// Names of hbbp doctor for what a machine can do.
constexpr std::pair<std::string_view, std::string_view> kEventsOfCapabilities[] = {
    {"task_clock", "task-clock"},
    {"cpu_clock", "cpu-clock"},
    {"hardware_instructions", "instructions"},
    {"precise_instructions", "instructions"}};
constexpr std::pair<std::string_view, std::string_view> kSourcesOfCapabilities[] = {
    {"branch_stack", "lbr"}, {"branch_tracing", "swbt"}};

Status FindEventOf(RecordOptions* record) {
  for (const auto& [capability, event] : kEventsOfCapabilities) {
    if (record->event == capability) record->event = event;
  }
  if (IsIbsEvent(record->event)) {
    if (record->source == "ibs") return OkStatus();
    return MakeStatus(StatusCode::kInvalidArgument, "-e %s goes with --source ibs, not with %s",
                      record->event.c_str(), record->source.c_str());
  }
  for (const auto& [capability, source] : kSourcesOfCapabilities) {
    if (record->event != capability) continue;
    return MakeStatus(StatusCode::kInvalidArgument, "-e %s: not an event; use --source %s",
                      record->event.c_str(), std::string(source).c_str());
  }
  if (IsIn(kEvents, record->event)) return OkStatus();
  if (record->event.find_first_of(" \t\n") != std::string::npos || record->event.size() > 200) {
    return MakeStatus(StatusCode::kInvalidArgument, "--event: not a name");
  }
  return CatchError([&] { record->event_code = hbbp::find_event(record->event); });
}

Status CheckRecordOptions(const RecordOptions& record) {
  if (record.output == kStandardOutput) {
    return Status(StatusCode::kInvalidArgument, kOutputIsOfProgram);
  }
  HBBP_RETURN_IF_ERROR(CheckTraceOptions(record));
  HBBP_RETURN_IF_ERROR(CheckOptionsOfSource(record));
  if (record.period != 0 && record.frequency_hz != 0) {
    return MakeStatus(StatusCode::kInvalidArgument, "--period and --freq: give one, not both");
  }
  if (!(record.duration_s >= 0 && record.duration_s < 1e9)) {
    return MakeStatus(StatusCode::kInvalidArgument, "--duration: not a number of seconds");
  }
  HBBP_RETURN_IF_ERROR(CheckFrequency(record.frequency_hz));
  HBBP_RETURN_IF_ERROR(CheckTarget(record));
  // The library checks everything else.
  return CatchError([&] { hbbp::session session(SessionOptionsOf(record)); });
}

}  // namespace hbbp::tools
