// hbbp record: runs a program with libhbbp-preload.so in it and keeps what it counted.
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <string_view>

#include "base/files.h"
#include "command.h"
#include "format.h"
#include "install_paths.h"
#include "options.h"
#include "preload/options.h"
#include "profile_view.h"
#include "record/collect.h"
#include "record/launch.h"

namespace hbbp::tools {
namespace {

namespace fs = std::filesystem;

constexpr char kName[] = "record";
constexpr char kPreloadFile[] = "libhbbp-preload.so";
constexpr char kPreloadFileOfSwbt[] = "libhbbp-preload-swbt.so";

struct RecordOptions {
  std::string output = "hbbp.data";
  std::string source = "auto";
  std::string event = "auto";
  std::string period_mode = "prime";
  std::string trace_mode;  // empty: not asked for
  uint64_t burst = 0;
  uint64_t period = 0;
  uint64_t frequency_hz = 0;
  double duration_s = 0;
  bool kernel = false;
  bool per_thread = false;
  std::vector<std::string> command;
};

struct Named {
  const char* name;
  int32_t value;
};
// Until there is a choice to make, auto is EBS.
constexpr Named kSources[] = {
    {"auto", HBBP_SOURCE_EBS}, {"ebs", HBBP_SOURCE_EBS}, {"swbt", HBBP_SOURCE_SWBT}};
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

template <size_t size>
std::vector<std::string> NamesOf(const Named (&list)[size]) {
  std::vector<std::string> names;
  for (const Named& named : list) names.push_back(named.name);
  return names;
}

template <size_t size>
int32_t ValueOf(const Named (&list)[size], const std::string& name) {
  for (const Named& named : list) {
    if (name == named.name) return named.value;
  }
  return 0;
}

std::optional<int> ParseOptions(int argc, char** argv, RecordOptions* record) {
  Options options(kName, "Profile a program and the processes that it starts");
  options.Value("-o,--output", &record->output, "FILE", "where the profile goes (hbbp.data)");
  options.Value("--source", &record->source, "auto|ebs|swbt",
                "what observes the program: samples of its instruction pointer (ebs, auto) or "
                "software branch tracing (swbt)");
  options.Choice("-e,--event", &record->event, NamesOf(kEvents),
                 "what a sampling period counts; auto: instructions where there is a PMU, else "
                 "task-clock");
  options.Value("-c,--period", &record->period, "N",
                "occurrences of the event between samples (ns for clocks)");
  options.Value("-F,--freq", &record->frequency_hz, "HZ",
                "samples a second of CPU time, instead of a period");
  options.Choice("--period-mode", &record->period_mode, NamesOf(kModes),
                 "how periods avoid to resonate with loops");
  options.Value("--burst", &record->burst, "N",
                "swbt: taken branches that a sample records, up to 65536");
  options.Choice("--mode", &record->trace_mode, NamesOf(kTraceModes),
                 "swbt: how branches are resolved: interpreted ahead (lookahead), by breakpoints, "
                 "or both and compared (verify)");
  options.Value("--duration", &record->duration_s, "S",
                "stop profiling after S seconds; the program goes on to its end");
  options.Flag("--kernel", &record->kernel, "count kernel code too");
  options.Flag("--per-thread", &record->per_thread, "list the threads in the summary");
  options.Command(&record->command, "CMD ARG...", "the program to profile");
  options.Footer(
      "The profile of CMD goes to FILE, those of processes that it starts to FILE.PID.\n"
      "The exit status is that of CMD; 2 if it could not be profiled.");
  return options.Parse(argc, argv);
}

// The kernel's answer to a higher frequency is EINVAL, whatever else may be wrong.
Status CheckFrequency(uint64_t frequency_hz) {
  constexpr char kLimit[] = "/proc/sys/kernel/perf_event_max_sample_rate";
  StatusOr<std::string> text = ReadTextFile(kLimit);
  if (!text.ok()) return OkStatus();
  const uint64_t most_hz = std::strtoull(text->c_str(), nullptr, 10);
  if (frequency_hz <= most_hz) return OkStatus();
  return MakeStatus(
      StatusCode::kInvalidArgument, "--freq %llu: kernel.perf_event_max_sample_rate allows %llu",
      static_cast<unsigned long long>(frequency_hz), static_cast<unsigned long long>(most_hz));
}

Status CheckSource(const RecordOptions& record) {
  const std::vector<std::string> names = NamesOf(kSources);
  if (std::find(names.begin(), names.end(), record.source) != names.end()) return OkStatus();
  if (record.source.find(',') != std::string::npos) {
    return MakeStatus(StatusCode::kInvalidArgument,
                      "--source %s: this version records from one source at a time: auto, ebs or "
                      "swbt",
                      record.source.c_str());
  }
  return MakeStatus(StatusCode::kInvalidArgument, "--source %s: must be auto, ebs or swbt",
                    record.source.c_str());
}

Status CheckTraceOptions(const RecordOptions& record) {
  const bool is_swbt = ValueOf(kSources, record.source) == HBBP_SOURCE_SWBT;
  if (!is_swbt && (record.burst != 0 || !record.trace_mode.empty())) {
    return MakeStatus(StatusCode::kInvalidArgument, "%s goes with --source swbt only",
                      record.burst != 0 ? "--burst" : "--mode");
  }
  if (record.burst > HBBP_MAX_BURST_BRANCHES) {
    return MakeStatus(StatusCode::kInvalidArgument, "--burst %llu: at most %d branches",
                      static_cast<unsigned long long>(record.burst), HBBP_MAX_BURST_BRANCHES);
  }
  return OkStatus();
}

Status CheckOptions(const RecordOptions& record) {
  HBBP_RETURN_IF_ERROR(CheckSource(record));
  HBBP_RETURN_IF_ERROR(CheckTraceOptions(record));
  if (record.period != 0 && record.frequency_hz != 0) {
    return MakeStatus(StatusCode::kInvalidArgument, "--period and --freq: give one, not both");
  }
  if (!(record.duration_s >= 0 && record.duration_s < 1e9)) {
    return MakeStatus(StatusCode::kInvalidArgument, "--duration: not a number of seconds");
  }
  HBBP_RETURN_IF_ERROR(CheckFrequency(record.frequency_hz));
  // The library says what else is wrong.
  HBBP_INIT(hbbp_session_options, options);
  options.source = ValueOf(kSources, record.source);
  options.trace_mode = ValueOf(kTraceModes, record.trace_mode);
  options.burst_branches = static_cast<uint32_t>(record.burst);
  options.event = ValueOf(kEvents, record.event);
  options.period_mode = ValueOf(kModes, record.period_mode);
  options.period = record.period;
  options.frequency_hz = record.frequency_hz;
  options.include_kernel = record.kernel ? 1 : 0;
  hbbp_session* session = nullptr;
  HBBP_INIT(hbbp_error, error);
  if (hbbp_session_create(&options, &session, &error) != HBBP_OK) return ToStatus(error);
  hbbp_session_destroy(session);
  return OkStatus();
}

// Beside the command in a build tree, below the library folder when installed.
StatusOr<std::string> FindPreloadLibrary(const RecordOptions& record) {
  const bool is_swbt = ValueOf(kSources, record.source) == HBBP_SOURCE_SWBT;
  const char* const file = is_swbt ? kPreloadFileOfSwbt : kPreloadFile;
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  const fs::path folder = self.parent_path();
  const fs::path candidates[] = {folder / "preload" / file,
                                 folder / kPathFromCommandToPreload / file};
  for (const fs::path& candidate : candidates) {
    if (!fs::exists(candidate, error)) continue;
    std::string path = fs::weakly_canonical(candidate, error).string();
    if (path.find_first_of(" :") != std::string::npos) {
      return MakeStatus(StatusCode::kUnsupported,
                        "%s: LD_PRELOAD cannot hold a path with a space or a colon; install hbbp "
                        "in another folder",
                        path.c_str());
    }
    return path;
  }
  return MakeStatus(StatusCode::kNotFound,
                    "%s: not found beside %s nor in %s; the installation is incomplete", file,
                    self.c_str(), candidates[1].lexically_normal().c_str());
}

uint64_t DeadlineNs(double duration_s) {
  if (duration_s <= 0) return 0;
  timespec now;
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec) +
         static_cast<uint64_t>(duration_s * 1e9);
}

Environment EnvironmentFor(const RecordOptions& record, const std::string& preload_library,
                           const std::string& folder) {
  const char* others = std::getenv("LD_PRELOAD");
  std::string preload = preload_library;
  if (others != nullptr && *others != '\0') preload += std::string(":") + others;
  std::string session;
  for (uint64_t number :
       {static_cast<uint64_t>(ValueOf(kEvents, record.event)),
        static_cast<uint64_t>(ValueOf(kModes, record.period_mode)), record.period,
        record.frequency_hz, static_cast<uint64_t>(record.kernel), DeadlineNs(record.duration_s),
        static_cast<uint64_t>(ValueOf(kSources, record.source)),
        static_cast<uint64_t>(ValueOf(kTraceModes, record.trace_mode)), record.burst}) {
    session += std::to_string(number) + " ";
  }
  return {{"LD_PRELOAD", preload},
          {preload::kFolderVariable, folder},
          {preload::kSessionVariable, session}};
}

std::string JoinedCommand(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return c < ' '; }, ' ');
  constexpr size_t kMaxShown = 60;
  if (text.size() > kMaxShown) text = text.substr(0, kMaxShown) + "...";
  return text;
}

std::string Plural(size_t count, const char* one, const char* many) {
  return FormatCount(static_cast<uint64_t>(count)) + " " + (count == 1 ? one : many);
}

void PrintLine(const std::string& text) { std::cerr << "hbbp record: " << text << '\n'; }

std::string DescribeSources(const std::vector<SourceView>& sources) {
  std::string text;
  for (const SourceView& source : sources) {
    if (!text.empty()) text += "; ";
    const bool is_swbt = source.source == HBBP_SOURCE_SWBT;
    text += FormatCount(source.samples) + (is_swbt ? " bursts of " : " samples of ") +
            EventName(source.event);
    if (source.frequency_hz != 0) {
      text += " at " + FormatCount(source.frequency_hz) + " Hz";
    } else if (source.unit == HBBP_UNIT_NANOSECONDS) {
      text += ", one each " + FormatDuration(source.period);
    } else {
      text += ", one each " + FormatCount(source.period);
    }
    if (is_swbt) {
      text += ", " + FormatCount(source.taken_branches) + " taken branches, " +
              FormatCount(source.breakpoints) + " breakpoints (" + source.mode + ")";
    }
    text += "; lost " + FormatCount(source.lost) + ", throttled " + FormatCount(source.throttled) +
            ", unmapped " + FormatCount(source.unmapped);
  }
  return text;
}

std::string DescribeModules(std::vector<hbbp_module> modules) {
  constexpr size_t kShown = 4;
  uint64_t total = 0;
  for (const hbbp_module& module : modules) total += module.samples;
  if (total == 0) return "no samples: it ran too briefly, or mostly waited";
  std::sort(modules.begin(), modules.end(), [](const hbbp_module& a, const hbbp_module& b) {
    if (a.samples != b.samples) return a.samples > b.samples;
    return std::string_view(a.path) < std::string_view(b.path);
  });
  std::string text = "busiest modules:";
  for (size_t i = 0; i < modules.size() && i < kShown && modules[i].samples > 0; ++i) {
    text += std::string(i == 0 ? " " : ", ") + std::string(BaseName(modules[i].path)) + " " +
            FormatShare(static_cast<double>(modules[i].samples) / static_cast<double>(total));
  }
  return text;
}

// That of the program, unless it left all the work to its children, as shells and compilers do.
StatusOr<std::string> ProfileToLookAt(const std::vector<ProcessProfile>& stored) {
  const ProcessProfile* busiest = &stored.front();
  uint64_t most_samples = 0;
  HBBP_INIT(hbbp_error, error);
  for (const ProcessProfile& process : stored) {
    HBBP_INIT(hbbp_profile_info, info);
    if (hbbp_profile_get_info(process.profile.get(), &info, &error) != HBBP_OK) {
      return ToStatus(error);
    }
    if (info.samples > most_samples) {
      busiest = &process;
      most_samples = info.samples;
    }
    if (stored.front().pid == process.pid && most_samples > 0) break;
  }
  return busiest->path;
}

uint64_t CounterOf(const SourceView& source, std::string_view name) {
  for (const hbbp_counter& counter : source.counters) {
    if (counter.name == name) return counter.value;
  }
  return 0;
}

// As far as a profile tells: nothing if its period does not count time, or is not known.
std::optional<uint64_t> ProfiledTimeNs(const std::vector<SourceView>& sources) {
  uint64_t time_ns = 0;
  for (const SourceView& source : sources) {
    if (source.unit != HBBP_UNIT_NANOSECONDS || source.period == 0) return std::nullopt;
    // Of branch tracing, not every sample becomes a burst.
    const uint64_t samples = std::max(source.samples, CounterOf(source, "samples"));
    time_ns += (samples + source.lost) * source.period;
  }
  return time_ns;
}

// What ran unseen must not go unnoticed.
Status NoteUnprofiledTime(const RecordOptions& record, const ProgramEnd& end,
                          const std::vector<ProcessProfile>& stored) {
  if (record.duration_s > 0) return OkStatus();
  uint64_t profiled_ns = 0;
  for (const ProcessProfile& process : stored) {
    HBBP_ASSIGN_OR_RETURN(const auto sources, SourcesAsRecorded(process.profile.get()));
    const std::optional<uint64_t> time_ns = ProfiledTimeNs(sources);
    if (!time_ns) return OkStatus();
    profiled_ns += *time_ns;
  }
  // What a killed program loses was said already.
  const uint64_t tolerated_ns = end.signal != 0 ? 1'300'000'000 : 300'000'000;
  if (profiled_ns + std::max(tolerated_ns, end.user_time_ns / 4) >= end.user_time_ns) {
    return OkStatus();
  }
  Note(kName, "the profiles cover " + FormatDuration(profiled_ns) + " of " +
                  FormatDuration(end.user_time_ns) +
                  " of user CPU time; the rest ran in processes that are too brief or did not "
                  "load libhbbp-preload.so (static, 32-bit, setuid, or without LD_PRELOAD)");
  return OkStatus();
}

void NoteDebugRegisters(const std::vector<SourceView>& sources) {
  uint64_t refused = 0;
  for (const SourceView& source : sources) refused += CounterOf(source, "no-debug-register");
  if (refused == 0) return;
  Note(kName, FormatCount(refused) +
                  " bursts ended early or not even began, because the program or a debugger had "
                  "taken all debug registers");
}

Status PrintSummary(const RecordOptions& record, const ProgramEnd& end,
                    const std::vector<ProcessProfile>& stored) {
  const hbbp_profile* root = stored.front().profile.get();
  HBBP_INIT(hbbp_profile_info, info);
  HBBP_INIT(hbbp_error, error);
  if (hbbp_profile_get_info(root, &info, &error) != HBBP_OK) return ToStatus(error);
  HBBP_ASSIGN_OR_RETURN(std::vector<SourceView> sources, SourcesAsRecorded(root));
  HBBP_ASSIGN_OR_RETURN(std::vector<hbbp_module> modules, Modules(root));
  HBBP_ASSIGN_OR_RETURN(std::vector<hbbp_thread> threads, Threads(root));
  const std::string ended = end.signal != 0 ? std::string("killed by ") + strsignal(end.signal) +
                                                  ", so its last second or more may be missing"
                                            : "exit status " + std::to_string(end.exit_status);
  PrintLine(JoinedCommand(record.command) + ": " + ended + ", " + FormatDuration(info.duration_ns) +
            ", " + Plural(threads.size(), "thread", "threads") + " with samples, " +
            Plural(stored.size() - 1, "child process", "child processes"));
  PrintLine(DescribeSources(sources));
  PrintLine(DescribeModules(modules));
  NoteDebugRegisters(sources);
  std::error_code ignored;
  PrintLine("wrote " + record.output + " (" +
            FormatCount(static_cast<uint64_t>(fs::file_size(record.output, ignored))) + " bytes)");
  HBBP_ASSIGN_OR_RETURN(const std::string next, ProfileToLookAt(stored));
  PrintLine("next: hbbp mix " + next);
  if (record.per_thread) {
    for (const hbbp_thread& thread : threads) {
      PrintLine("thread " + std::to_string(thread.tid) + " " + thread.name + ": " +
                FormatCount(thread.samples) + " samples");
    }
  }
  for (auto child = stored.begin() + 1; child != stored.end(); ++child) {
    if (hbbp_profile_get_info(child->profile.get(), &info, &error) != HBBP_OK) {
      return ToStatus(error);
    }
    PrintLine("process " + std::to_string(child->pid) + " " + JoinedCommand({info.command}) + ": " +
              FormatCount(info.samples) + " samples, wrote " + child->path);
  }
  return NoteUnprofiledTime(record, end, stored);
}

std::string WhyNoProfile(const ProcessParts& root, const std::string& program,
                         const ProgramEnd& end, const PartsFolder& folder) {
  if (!root.errors.empty()) return root.errors.front();
  // A full disk has no room for the reason either.
  const Status status = folder.TryToWrite();
  if (!status.ok()) return program + " left no profile: " + status.message();
  if (end.signal != 0) {
    return program + " was killed by " + strsignal(end.signal) + " before it left a profile";
  }
  return program +
         " left no profile: it did not load libhbbp-preload.so (a static, 32-bit or setuid "
         "program), or at its start changed its root folder or forbade threads";
}

int Record(const RecordOptions& record) {
  Status status = CheckOptions(record);
  if (!status.ok()) return Fail(kName, status.message());
  StatusOr<std::string> preload_library = FindPreloadLibrary(record);
  if (!preload_library.ok()) return Fail(kName, preload_library.status().message());
  StatusOr<PartsFolder> folder = PartsFolder::Create(record.output);
  if (!folder.ok()) return Fail(kName, folder.status().message());
  StatusOr<ProgramEnd> end =
      RunProgram(record.command, EnvironmentFor(record, *preload_library, folder->path()),
                 preload::kRootVariable);
  if (!end.ok()) return Fail(kName, end.status().message());
  std::map<pid_t, ProcessParts> parts = ListParts(*folder);
  StatusOr<std::vector<ProcessProfile>> stored = StoreProfiles(parts, end->pid, record.output);
  if (!stored.ok()) return Fail(kName, stored.status().message());
  for (const auto& [pid, process] : parts) {
    if (process.profiles.empty() && pid == end->pid) continue;
    if (process.errors.empty()) continue;
    Note(kName, "process " + std::to_string(pid) + ": " + process.errors.front());
  }
  if (stored->empty() || stored->front().pid != end->pid) {
    return Fail(kName, WhyNoProfile(parts[end->pid], record.command[0], *end, *folder));
  }
  status = PrintSummary(record, *end, *stored);
  if (!status.ok()) return Fail(kName, status.message());
  return end->exit_status;
}

}  // namespace

int RunRecord(int argc, char** argv) {
  RecordOptions record;
  if (std::optional<int> status = ParseOptions(argc, argv, &record)) return *status;
  return Record(record);
}

}  // namespace hbbp::tools
