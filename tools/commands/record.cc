// hbbp record: profiles a program, and keeps what was counted. RunRecord chooses whether the
// program loads libhbbp-preload.so or is observed from outside, starts a keeper that finishes the
// work if this process is killed, runs the program, and stores the profiles of its processes.
#include "commands/record.h"

#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <utility>

#include "base/clock.h"
#include "base/own_status.h"
#include "command.h"
#include "install_paths.h"
#include "preload/machine_facts.h"
#include "preload/options.h"
#include "profile_view.h"
#include "record/collect.h"
#include "record/keeper.h"
#include "record/launch.h"
#include "record/live_processes.h"
#include "record/outside.h"
#include "record/record_options.h"
#include "record/summary.h"
#include "record/target.h"
#include "record/unfinished_recording.h"
#include "record/unprofiled.h"

namespace hbbp::tools {
namespace {

namespace fs = std::filesystem;

constexpr char kName[] = "record";
constexpr char kPreloadFile[] = "libhbbp-preload.so";
constexpr char kPreloadFileOfSwbt[] = "libhbbp-preload-swbt.so";

bool MayTrace(const RecordOptions& record) {
  const hbbp_source_kind source = SessionOptionsOf(record).source;
  return source == HBBP_SOURCE_SWBT || source == HBBP_SOURCE_AUTO ||
         source == HBBP_SOURCE_EBS_AND_SWBT;
}

// The library is next to the command in a build tree, and below the library directory when
// installed.
StatusOr<std::string> FindPreloadLibrary(const RecordOptions& record) {
  const char* const file = MayTrace(record) ? kPreloadFileOfSwbt : kPreloadFile;
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  if (error) return ErrnoStatus(error.value(), "/proc/self/exe");
  const fs::path directory = self.parent_path();
  const fs::path candidates[] = {directory / "preload" / file,
                                 directory / kPathFromCommandToPreload / file};
  for (const fs::path& candidate : candidates) {
    std::string path = fs::canonical(candidate, error).string();
    if (error == std::errc::no_such_file_or_directory) continue;
    if (error) return ErrnoStatus(error.value(), candidate.string());
    if (path.find_first_of(" :") != std::string::npos) {
      return MakeStatus(StatusCode::kUnsupported,
                        "%s: LD_PRELOAD cannot hold a path with a space or a colon; install hbbp "
                        "in another directory",
                        path.c_str());
    }
    return path;
  }
  return MakeStatus(StatusCode::kNotFound,
                    "%s: not found next to %s nor in %s; the installation is incomplete", file,
                    self.c_str(), candidates[1].lexically_normal().c_str());
}

uint64_t DeadlineNs(double duration_s) {
  if (duration_s <= 0) return 0;
  return ClockNs(CLOCK_MONOTONIC) + static_cast<uint64_t>(duration_s * 1e9);
}

Environment EnvironmentFor(const RecordOptions& record, const std::string& preload_library,
                           const std::string& directory) {
  const char* others = std::getenv("LD_PRELOAD");
  std::string preload = preload_library;
  if (others != nullptr && *others != '\0') preload += std::string(":") + others;
  const hbbp_session_options options = SessionOptionsOf(record);
  std::string session;
  for (uint64_t number :
       {static_cast<uint64_t>(options.event),
        static_cast<uint64_t>(options.period_mode),
        options.period,
        options.frequency_hz,
        static_cast<uint64_t>(options.include_kernel),
        DeadlineNs(record.duration_s),
        static_cast<uint64_t>(options.source),
        static_cast<uint64_t>(options.trace_mode),
        static_cast<uint64_t>(options.burst_branches),
        options.branch_period,
        options.expected_seconds,
        options.event_type,
        options.event_config,
        static_cast<uint64_t>(options.ebs_method),
        static_cast<uint64_t>(options.imprecise),
        options.slice_ns,
        ClockNs(CLOCK_REALTIME) - ClockNs(CLOCK_MONOTONIC),
        static_cast<uint64_t>(options.max_overhead * preload::kOverheadUnit),
        options.max_memory,
        options.kept_burst_bytes,
        static_cast<uint64_t>(options.keep_values << 1 | options.keep_accesses)}) {
    session += std::to_string(number) + " ";
  }
  if (options.event_name != nullptr) session += options.event_name;
  return {{"LD_PRELOAD", preload},
          {preload::kLibraryVariable, preload_library},
          {preload::kDirectoryVariable, directory},
          {preload::kIgnoredVariable, preload::kNoneIgnored},
          {preload::kFiltersVariable, std::to_string(CountSeccompFilters())},
          {preload::kMachineVariable, ToText(preload::FindMachineFacts(MayTrace(record)))},
          {preload::kSessionVariable, session}};
}

std::string HowItEnded(const ProgramEnd& end) {
  return end.signal != 0 ? std::string("was killed by ") + SignalName(end.signal)
                         : "ended with status " + std::to_string(end.exit_status);
}

std::string WhyNoProfile(const ProcessParts& root, const std::string& program,
                         const ProgramEnd& end, const PartsDirectory& directory) {
  if (!root.errors.empty()) return root.errors.front();
  if (root.was_starting) {
    return program + " was not run: its process " + HowItEnded(end) +
           " while profiling was being started in it";
  }
  // A full disk has no room for the reason either.
  const Status status = directory.TryToWrite();
  if (!status.ok()) return program + " left no profile: " + status.message();
  if (root.was_started) {
    return program + " " + HowItEnded(end) +
           " and left no profile: something removed it, or it can no longer be written";
  }
  return program + " " + HowItEnded(end) +
         " and left no profile: it did not load libhbbp-preload.so, or ended before that; "
         "--outside needs nothing to be loaded";
}

StatusOr<RunProfiles> StoreAll(const RecordOptions& record, const PartsDirectory& directory,
                               pid_t root, const std::set<pid_t>& running,
                               std::map<pid_t, ProcessParts>* parts) {
  const auto store = record.merge ? &StoreMergedProfile : &StoreProfiles;
  return store(directory, root, record.output, running, parts);
}

// Runs in the keeper.
void FinishForKilledCommand(RecordOptions record, const std::string& path, pid_t program) {
  PartsDirectory directory(path);
  if (IsReplaced(record.output, directory.Outer())) {
    record.output += "." + std::to_string(program);
  }
  std::map<pid_t, ProcessParts> parts;
  const StatusOr<RunProfiles> stored = StoreAll(record, directory, program, {}, &parts);
  if (!parts[program].was_started) {
    Note(kName, "the command was killed before it profiled the program");
    return;
  }
  std::string written;
  if (stored.ok()) {
    if (stored->merged) written = " " + record.output;
    for (const ProcessProfile& process : stored->processes) {
      if (!stored->merged) written += " " + process.path;
    }
    for (const std::string& message : stored->kept_apart) Note(kName, message);
  }
  Note(kName, "the command was killed; the program has ended since, and " +
                  (stored.ok() ? "the profiles written are:" + (written.empty() ? " none" : written)
                               : "not all profiles could be written: " + stored.status().message() +
                                     directory.KeepIfAnyProfile()));
}

// Runs in the keeper.
void FinishForRunningProcesses(const std::string& output, const std::string& path, pid_t program,
                               const std::vector<pid_t>& running,
                               const std::function<void()>& has_taken_over) {
  PartsDirectory directory(path);
  StatusOr<LiveProcesses> live = LiveProcesses::Open(path);
  has_taken_over();
  if (live.ok()) live->WaitForAll(running);
  std::map<pid_t, ProcessParts> parts;
  if (!StoreProfiles(directory, program, output, {}, &parts).ok()) directory.KeepIfAnyProfile();
}

// Returns the exit status of hbbp record, which is that of the program if it was run.
int StoreAndReport(const RecordOptions& record, const ProgramEnd& end,
                   const std::vector<pid_t>& running, PartsDirectory* directory) {
  const std::string unprofiled = DescribeUnprofiled(ReadUnprofiled(directory->path()));
  std::map<pid_t, ProcessParts> parts;
  const StatusOr<RunProfiles> stored =
      StoreAll(record, *directory, end.pid, {running.begin(), running.end()}, &parts);
  if (!stored.ok()) {
    (void)Fail(kName, stored.status().message() + directory->KeepIfAnyProfile());
    return end.exit_status;
  }
  for (const auto& [pid, process] : parts) {
    if (process.profiles.empty() && pid == end.pid) continue;
    if (process.errors.empty()) continue;
    Note(kName, "process " + std::to_string(pid) + ": " + process.errors.front());
  }
  for (const std::string& message : stored->kept_apart) Note(kName, message);
  if (!unprofiled.empty()) Note(kName, unprofiled);
  const std::vector<ProcessProfile>& processes = stored->processes;
  if (processes.empty() || processes.front().pid != end.pid) {
    const ProcessParts& root = parts[end.pid];
    const int failure = Fail(kName, WhyNoProfile(root, record.command[0], end, *directory));
    return root.was_starting ? failure : end.exit_status;
  }
  const Status status = CatchError([&] { PrintRecordSummary(record, end, *stored); });
  if (!status.ok()) (void)Fail(kName, status.message());
  ReportRunningProcesses(record, running);
  return end.exit_status;
}

int RecordInside(const RecordOptions& record) {
  StatusOr<std::string> preload_library = FindPreloadLibrary(record);
  if (!preload_library.ok()) return Fail(kName, preload_library.status().message());
  const StatusOr<std::string> parts_path = PartsDirectory::PathFor(record.output);
  if (!parts_path.ok()) return Fail(kName, parts_path.status().message());
  std::optional<StatusOr<LiveProcesses>> observed;  // set in the keeper
  // The keeper starts before there is anything to clean up.
  StatusOr<Keeper> keeper = Keeper::Start(
      {[&] { observed = LiveProcesses::Open(*parts_path); },
       [&](pid_t program) { FinishForKilledCommand(record, *parts_path, program); },
       [&](pid_t program, const std::vector<pid_t>& running,
           const std::function<void()>& has_taken_over) {
         FinishForRunningProcesses(record.output, *parts_path, program, running, has_taken_over);
       }});
  if (!keeper.ok()) return Fail(kName, keeper.status().message());
  StatusOr<PartsDirectory> directory = PartsDirectory::Create(*parts_path);
  if (!directory.ok()) return Fail(kName, directory.status().message());
  const Status writable = directory->TryToWrite();
  if (!writable.ok()) return Fail(kName, writable.message());
  StatusOr<LiveProcesses> live = LiveProcesses::Create(directory->path());
  if (!live.ok()) return Fail(kName, live.status().message());
  LaunchHooks hooks;
  hooks.before_exec = [&keeper](pid_t program) { keeper->Watch(program); };
  StatusOr<ProgramEnd> end =
      RunProgram(record.command, EnvironmentFor(record, *preload_library, directory->path()),
                 preload::kRootVariable, hooks);
  if (!end.ok()) return Fail(kName, end.status().message());
  const std::vector<pid_t> running = live->Find(end->pid);
  const int status = StoreAndReport(record, *end, running, &*directory);
  if (!running.empty()) {
    keeper->HandOver(running);
    directory->Release();
  }
  return status;
}

int RecordOutside(const RecordOptions& record) {
  OutsideRun run;
  const Status observed = ObserveFromOutside(record, &run);
  if (!observed.ok()) {
    const int failure = Fail(kName, observed.message());
    return run.end.pid != 0 ? run.end.exit_status : failure;
  }
  for (const std::string& message : run.stored.kept_apart) Note(kName, message);
  const Status status = CatchError([&] { PrintRecordSummary(record, run.end, run.stored); });
  if (!status.ok()) (void)Fail(kName, status.message());
  return run.end.exit_status;
}

}  // namespace

int RunRecord(int argc, char** argv) {
  RecordOptions record;
  if (std::optional<int> status = ParseRecordOptions(argc, argv, &record)) return *status;
  return Record(std::move(record));
}

int Record(RecordOptions record) {
  OutliveFileSizeLimit();
  Status status = FindEventOf(&record);
  if (status.ok()) status = FindSlices(&record);
  if (status.ok()) status = FindBudgets(&record);
  if (status.ok()) status = FindKeptValues(&record);
  if (status.ok()) status = FindPids(&record);
  if (status.ok()) status = CheckRecordOptions(record);
  std::string note;
  if (status.ok()) status = ChooseSide(&record, &note);
  if (!status.ok()) return Fail(kName, status.message());
  if (!note.empty()) Note(kName, note);
  return ObservesRunning(record) || record.is_outside ? RecordOutside(record)
                                                      : RecordInside(record);
}

}  // namespace hbbp::tools
