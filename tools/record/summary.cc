// Prints what hbbp record has recorded. PrintRecordSummary, which RunRecord calls at the end,
// prints how the program ended, the samples of each source, the busiest modules and the written
// files, and adds notes about bursts that ended early, few bursts, stops in system calls and CPU
// time that no profile covers.
#include "record/summary.h"

#include <algorithm>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <optional>
#include <set>
#include <string_view>

#include "base/files.h"
#include "command.h"
#include "format.h"
#include "process_view.h"
#include "profile_view.h"

namespace hbbp::tools {
namespace {

namespace fs = std::filesystem;

constexpr char kName[] = "record";

std::string JoinedCommand(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return c < ' '; }, ' ');
  constexpr size_t kMaxShown = 60;
  if (text.size() > kMaxShown) text = text.substr(0, kMaxShown) + "...";
  return text;
}

void PrintLine(const std::string& text) { std::cerr << "hbbp record: " << Printable(text) << '\n'; }

uint64_t FindCounter(const SourceView& source, std::string_view name) {
  for (const hbbp_counter& counter : source.counters) {
    if (counter.name == name) return counter.value;
  }
  return 0;
}

// Returns how many samples made no burst because there was nothing free to keep one.
uint64_t DroppedBursts(const SourceView& source) {
  return FindCounter(source, "no-free-slot") + FindCounter(source, "no-free-buffer") +
         FindCounter(source, "no-free-interpreter");
}

std::string DescribeSources(const std::vector<SourceView>& sources) {
  std::string text;
  for (const SourceView& source : sources) {
    if (!text.empty()) text += "; ";
    const bool is_swbt = source.kind == HBBP_SOURCE_SWBT;
    text += DescribeSamples(source) + " of " + EventNameOf(source);
    if (source.frequency_hz != 0) {
      text += " at " + FormatCount(source.frequency_hz) + " Hz";
    } else if (source.unit == HBBP_UNIT_NANOSECONDS) {
      text += ", one each " + FormatDuration(source.period);
    } else {
      text += ", one each " + FormatCount(source.period);
    }
    if (FindCounter(source, "left-out") != 0) text += " at first and then fewer";
    if (is_swbt) {
      text += ", " + FormatCount(source.taken_branches) + " taken branches, " +
              FormatCount(source.breakpoints) + " breakpoints (" + source.mode + ")";
    }
    const uint64_t dropped = DroppedBursts(source);
    if (dropped != 0) text += ", " + FormatCount(dropped) + " samples dropped for want of a buffer";
    text += "; lost " + FormatCount(source.lost) + ", throttled " + FormatCount(source.throttled) +
            ", unmapped " + FormatCount(source.unmapped);
  }
  return text;
}

}  // namespace

std::string SignalName(int signal) {
  if (signal >= SIGRTMIN && signal <= SIGRTMAX) {
    return signal == SIGRTMIN ? "SIGRTMIN" : "SIGRTMIN+" + std::to_string(signal - SIGRTMIN);
  }
  const char* const name = sigabbrev_np(signal);
  return name == nullptr ? "signal " + std::to_string(signal) : std::string("SIG") + name;
}

namespace {

// Describes what was not saved. Empty if everything was.
std::string DescribeLoss(const RecordOptions& record, const ProgramEnd& end,
                         const ProcessProfile& root) {
  if (root.saved_ns == 0 || record.duration_s > 0) return "";
  const uint64_t lost_ns = end.time_ns - std::min(end.time_ns, root.saved_ns);
  // A program may save all of its counts, as where it gives up its user, and be killed later.
  constexpr uint64_t kUnnoticedNs = 200'000'000;
  if (!root.is_partial && (end.signal == 0 || lost_ns < kUnnoticedNs)) return "";
  return "its last " + FormatDuration(lost_ns) + " are missing";
}

std::string DescribeEnd(const RecordOptions& record, const ProgramEnd& end,
                        const ProcessProfile& root) {
  if (ObservesRunning(record)) return "process " + std::to_string(root.pid);
  const std::string loss = DescribeLoss(record, end, root);
  if (end.signal != 0) {
    return std::string("killed by ") + SignalName(end.signal) +
           (loss.empty() ? "" : ", so " + loss);
  }
  const char* const reason =
      root.has_failed ? ", and " : " by a system call of its own, unseen by the profiler, so ";
  return "exit status " + std::to_string(end.exit_status) + (loss.empty() ? "" : reason + loss);
}

std::string DescribeOthers(const RecordOptions& record, size_t count) {
  if (record.pids.size() > 1 || !record.cgroup.empty()) {
    return Plural(count, "other process", "other processes");
  }
  return Plural(count, "child process", "child processes");
}

// Says why there may be none, by what the sources count. `used_ns` is the user CPU time of the
// program and its children, 0 if that is not known.
std::string DescribeNoSamples(const std::vector<SourceView>& sources, bool is_partial,
                              bool has_others, uint64_t used_ns) {
  constexpr uint64_t kMinUsedNs = 100'000'000;
  if (is_partial) return "no samples: it ended before any was saved";
  uint64_t in_kernel = 0;
  for (const SourceView& source : sources) in_kernel += FindCounter(source, "in-kernel");
  if (in_kernel != 0) {
    return "no samples: " + Plural(in_kernel, "time", "times") +
           " when one was due, it was in a system call";
  }
  for (const SourceView& source : sources) {
    if (source.unit == HBBP_UNIT_NANOSECONDS) continue;
    const std::string event = EventNameOf(source);
    if (source.period == 0) return "no samples: it had no, or few, " + event;
    return "no samples: it had fewer than " + FormatCount(source.period) + " " + event +
           " in a thread; ask for a shorter period (-c)";
  }
  if (has_others) return "no samples of it, but of others: it ran too briefly, or mostly waited";
  const bool is_too_brief =
      std::any_of(sources.begin(), sources.end(),
                  [used_ns](const SourceView& source) { return used_ns < 2 * source.period; });
  if (is_too_brief || used_ns < kMinUsedNs) {
    return "no samples: it ran too briefly, or mostly waited";
  }
  return "no samples, but it used " + FormatDuration(used_ns) +
         " of user CPU time, with its children: in processes that were too brief, or could not be "
         "profiled";
}

std::string DescribeModules(std::vector<hbbp_module> modules,
                            const std::vector<SourceView>& sources, bool is_partial,
                            bool has_others, uint64_t used_ns) {
  constexpr size_t kShown = 4;
  uint64_t total = 0;
  for (const hbbp_module& module : modules) total += module.samples;
  if (total == 0) return DescribeNoSamples(sources, is_partial, has_others, used_ns);
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

// Returns the program's profile, unless its children did all the work, as those of shells and
// compilers do.
std::string BusiestProfile(const std::vector<ProcessProfile>& stored) {
  const ProcessProfile* busiest = &stored.front();
  uint64_t max_samples = 0;
  for (const ProcessProfile& process : stored) {
    const uint64_t samples = process.profile.info().samples;
    if (samples > max_samples) {
      busiest = &process;
      max_samples = samples;
    }
    if (stored.front().pid == process.pid && max_samples > 0) break;
  }
  return busiest->path;
}

// Of the notes of sources.
constexpr char kLongerPeriods[] = "periods were up to ";
constexpr char kNoMemory[] = "no memory for ";
constexpr char kOfDebugger[] = ", as a debugger or strace, ";
constexpr char kShortestPeriod[] = ", which is as often as threads are stopped";

// Returns the parts that contain `text` of notes and methods, which semicolons separate.
std::set<std::string> NotesWith(std::string_view text, const std::vector<SourceView>& sources) {
  std::set<std::string> notes;
  for (const SourceView& source : sources) {
    for (const std::string all : {source.note, source.method}) {
      const size_t end = all.find(text);
      if (end == std::string::npos) continue;
      const size_t begin = all.rfind("; ", end);
      const size_t first = begin == std::string::npos ? 0 : begin + 2;
      notes.insert(all.substr(first, all.find("; ", end) - first));
    }
  }
  return notes;
}

// Returns nothing if the period does not count time, or is unknown.
std::optional<uint64_t> ProfiledTimeNs(const std::vector<SourceView>& sources) {
  if (!NotesWith(kLongerPeriods, sources).empty() || !NotesWith(kNoMemory, sources).empty()) {
    return std::nullopt;
  }
  uint64_t max_ns = 0;
  for (const SourceView& source : sources) {
    // Those say nothing of time, even if there are none of them.
    if (source.event == HBBP_EVENT_OTHER) return std::nullopt;
    if (source.samples + source.lost == 0) continue;
    if (source.unit != HBBP_UNIT_NANOSECONDS || source.period == 0) return std::nullopt;
    // In branch tracing, not every sample becomes a burst.
    const uint64_t samples = std::max(source.samples, FindCounter(source, "samples"));
    // Others stand for what was lost and held back, too.
    const uint64_t sampled_ns = FindCounter(source, "sampled-events");
    max_ns = std::max({max_ns, sampled_ns, (samples + source.lost) * source.period});
  }
  return max_ns;
}

// Returns the time of the handlers of branch tracing, which is user CPU time of the program, too.
uint64_t HandlerTimeNs(const std::vector<SourceView>& sources) {
  uint64_t ns = 0;
  for (const SourceView& source : sources) ns += source.handler_ns;
  return ns;
}

// Reports the time that no profile covers.
void ReportUnprofiledTime(const RecordOptions& record, const ProgramEnd& end,
                          const std::vector<ProcessProfile>& stored) {
  // From outside, each burst stands for a time of its own.
  const bool is_counted = record.duration_s == 0 && !(record.is_outside && TracesBranches(record));
  if (!is_counted) return;
  uint64_t profiled_ns = 0, handlers_ns = 0, blocked_ms = 0;
  for (const ProcessProfile& process : stored) {
    const std::vector<SourceView> sources = SourcesAsRecorded(process.profile);
    const std::optional<uint64_t> time_ns = ProfiledTimeNs(sources);
    if (!time_ns || process.has_failed) return;
    profiled_ns += *time_ns;
    handlers_ns += HandlerTimeNs(sources);
    blocked_ms += SumOfCounters(sources, "signal-blocked-ms");
  }
  // The loss of a killed program was reported already.
  const uint64_t tolerated_ns = end.signal != 0 ? 1'300'000'000 : 300'000'000;
  const uint64_t known_ns = profiled_ns + handlers_ns;
  if (known_ns + std::max(tolerated_ns, end.user_time_ns / 4) >= end.user_time_ns) return;
  // Threads that live so briefly begin their periods anew, each of them.
  constexpr char kOfThreads[] = "in threads that ended within a period (-c shortens it), or ";
  constexpr char kOfBlocked[] =
      "in threads that block SIGTRAP by raw system calls (--source ebs samples them), or ";
  const std::string of_children = record.children
                                      ? "in children that ended within some 20 ms"
                                      : "in its children, which --children observes from outside";
  constexpr char kOfOthers[] =
      "in processes that are too brief, were killed, or did not load libhbbp-preload.so (static, "
      "32-bit, musl, setuid, with an effective user that is not its real one, with a sanitizer, or "
      "without LD_PRELOAD)";
  Note(kName, "the profiles cover " + FormatDuration(profiled_ns) + " of " +
                  FormatDuration(end.user_time_ns) + " of user CPU time" +
                  (handlers_ns == 0 ? "" : ", and handlers took " + FormatDuration(handlers_ns)) +
                  "; the rest ran " + (blocked_ms != 0 ? kOfBlocked : kOfThreads) +
                  (record.is_outside ? of_children : kOfOthers));
}

// The first program of a new user is short.
void ReportFewBursts(const RecordOptions& record, const std::vector<SourceView>& sources) {
  constexpr uint64_t kFew = 200;
  constexpr uint64_t kShorter = 10;
  for (const SourceView& source : sources) {
    const bool was_asked_for =
        record.period != 0 || record.frequency_hz != 0 || record.max_overhead_share != 0;
    if (source.kind != HBBP_SOURCE_SWBT || source.period <= kShorter || was_asked_for) continue;
    if (source.samples == 0 || source.samples >= kFew) continue;
    const bool is_of_budget = FindCounter(source, "left-out") != 0;
    if (is_of_budget) {
      Note(kName, "so few bursts leave large standard errors; -c " + std::to_string(source.period) +
                      " takes one each " + FormatDuration(source.period) + ", whatever that costs");
      continue;
    }
    constexpr uint64_t kRound = 1000;
    const uint64_t shorter = (source.period + 1) / kShorter;
    const uint64_t advised = shorter < kRound ? shorter : shorter / kRound * kRound;
    Note(kName, "so few bursts leave large standard errors; -c " + std::to_string(advised) +
                    " takes " + std::to_string(kShorter) +
                    " times as many, at that many times the cost");
  }
}

// One process stands for all that have such a note.
void ReportNotesWith(std::string_view text, const std::vector<ProcessProfile>& processes) {
  std::set<std::string> shown;
  uint64_t others = 0;
  for (const ProcessProfile& process : processes) {
    const std::set<std::string> notes = NotesWith(text, SourcesAsRecorded(process.profile));
    if (notes.empty()) continue;
    if (!shown.empty()) {
      ++others;
      continue;
    }
    shown = notes;
    const bool is_root = &process == &processes.front();
    const std::string title = FindTitle(static_cast<uint32_t>(process.pid), process.profile);
    for (const std::string& note : notes) {
      Note(kName, is_root ? note : "process " + title + ": " + note);
    }
  }
  if (others == 0) return;
  Note(kName, "so it is in " + Plural(others, "other process", "other processes") +
                  ": hbbp info shows the notes of a profile");
}

void ReportDebugRegisters(const std::vector<SourceView>& sources) {
  uint64_t refused = 0;
  for (const SourceView& source : sources) refused += FindCounter(source, "no-debug-register");
  if (refused == 0) return;
  Note(kName, FormatCount(refused) +
                  " bursts ended early or not even began, because the program or a debugger had "
                  "taken all debug registers");
}

// A debugger has come, or the process has gained privileges. One thread or two may have been about
// to end.
void ReportRefusedStops(const std::vector<ProcessProfile>& processes) {
  uint64_t refused = 0;
  for (const ProcessProfile& process : processes) {
    for (const SourceView& source : SourcesAsRecorded(process.profile)) {
      refused += FindCounter(source, "traced-by-another");
    }
  }
  constexpr uint64_t kFew = 3;
  if (refused < kFew) return;
  Note(kName, FormatCount(refused) +
                  " stops were refused: meanwhile a debugger traced the process, or it was setuid. "
                  "--source ebs samples it all the same");
}

// From outside, a thread that is found running has often just entered the kernel when it stops.
void ReportStopsInKernel(const std::vector<ProcessProfile>& processes) {
  constexpr uint64_t kMany = 20;
  uint64_t bursts = 0, in_kernel = 0;
  for (const ProcessProfile& process : processes) {
    for (const SourceView& source : SourcesAsRecorded(process.profile)) {
      bursts += source.bursts;
      in_kernel += FindCounter(source, "in-kernel");
    }
  }
  const bool is_worth_a_note = bursts == 0 ? in_kernel != 0 : in_kernel >= std::max(kMany, bursts);
  if (!is_worth_a_note) return;
  Note(kName, Plural(in_kernel, "stop", "stops") + " found a thread in a system call, and " +
                  FormatCount(bursts) +
                  " began a burst: code between short system calls is seen too rarely from "
                  "outside. --source ebs samples it; a program that starts under hbbp record is "
                  "traced from inside");
}

// Returns what lacks after the last checkpoint of a child.
std::string DescribeLoss(const RecordOptions& record, const ProcessProfile& child,
                         uint64_t duration_ns) {
  if (!child.is_partial || record.duration_s != 0 || ObservesRunning(record)) return "";
  return " of its first " + FormatDuration(duration_ns) +
         (child.is_running || child.has_failed
              ? ""
              : ", as it was killed or ended by a system call of its own");
}

void ListChildren(const RecordOptions& record, const std::vector<ProcessProfile>& processes) {
  for (auto child = processes.begin() + 1; child != processes.end(); ++child) {
    const hbbp_profile_info info = child->profile.info();
    PrintLine("process " + std::to_string(child->pid) + " " + JoinedCommand({info.command}) + ": " +
              Plural(info.samples, "sample", "samples") +
              DescribeLoss(record, *child, info.duration_ns) + ", wrote " + child->path);
  }
}

void ListMergedProcesses(const RecordOptions& record, const std::vector<hbbp_thread>& threads) {
  constexpr size_t kShown = 10;
  std::vector<ProcessView> processes = ProcessesOf(threads);
  std::erase_if(processes, [](const ProcessView& process) { return process.samples == 0; });
  for (size_t i = 0; i < processes.size() && i < kShown; ++i) {
    PrintLine("process " + TitleOf(processes[i]) + ": " +
              Plural(processes[i].samples, "sample", "samples"));
  }
  if (processes.size() <= kShown) return;
  PrintLine("and " + Plural(processes.size() - kShown, "more process", "more processes") +
            " with samples: hbbp info " + record.output + " lists all");
}

// Returns "4135 (redis-server)".
std::string NameOfProcess(pid_t pid) {
  const std::string id = std::to_string(pid);
  constexpr uint64_t kMaxBytes = 4096;
  StatusOr<std::string> name = ReadTextFile("/proc/" + id + "/comm", kMaxBytes);
  if (!name.ok() || name->empty()) return id;
  if (name->back() == '\n') name->pop_back();
  return id + " (" + *name + ")";
}

}  // namespace

void PrintRecordSummary(const RecordOptions& record, const ProgramEnd& end,
                        const RunProfiles& run) {
  const ProcessProfile& root = run.processes.front();
  const hbbp::profile& main = run.merged ? *run.merged : root.profile;
  const hbbp_profile_info info = root.profile.info();
  const std::vector<SourceView> sources = SourcesAsRecorded(main);
  const std::vector<hbbp_thread> threads = main.threads();
  const std::string command =
      ObservesRunning(record) ? info.command : JoinedCommand(record.command);
  PrintLine(command + ": " + DescribeEnd(record, end, root) + ", " +
            FormatDuration(info.duration_ns) + ", " + Plural(threads.size(), "thread", "threads") +
            " with samples, " + DescribeOthers(record, run.processes.size() - 1));
  PrintLine(DescribeSources(sources));
  const uint64_t used_ns = ObservesRunning(record) || record.duration_s != 0 ? 0 : end.user_time_ns;
  PrintLine(
      DescribeModules(main.modules(), sources, root.is_partial, run.processes.size() > 1, used_ns));
  for (const char* const text :
       {" ended early: ", kNoMemory, kLongerPeriods, kOfDebugger, kShortestPeriod}) {
    ReportNotesWith(text, run.processes);
  }
  ReportDebugRegisters(sources);
  ReportFewBursts(record, sources);
  if (ObservesRunning(record) || record.is_outside) {
    ReportStopsInKernel(run.processes);
    ReportRefusedStops(run.processes);
  }
  std::error_code ignored;
  if (!record.is_temporary) {
    PrintLine("wrote " + record.output + " (" +
              FormatCount(static_cast<uint64_t>(fs::file_size(record.output, ignored))) +
              " bytes)");
    PrintLine("next: hbbp mix " + (run.merged ? record.output : BusiestProfile(run.processes)));
  }
  if (record.per_thread) {
    for (const hbbp_thread& thread : threads) {
      PrintLine("thread " + std::to_string(thread.tid) + " " + thread.name + ": " +
                Plural(thread.samples, "sample", "samples"));
    }
  }
  if (run.merged) {
    ListMergedProcesses(record, threads);
  } else {
    ListChildren(record, run.processes);
  }
  if (!ObservesRunning(record)) ReportUnprofiledTime(record, end, run.processes);
}

void ReportRunningProcesses(const RecordOptions& record, const std::vector<pid_t>& running) {
  constexpr size_t kMaxNamed = 4;
  if (running.empty()) return;
  std::string names;
  for (size_t i = 0; i < running.size() && i < kMaxNamed; ++i) {
    names += (i == 0 ? " " : ", ") + NameOfProcess(running[i]);
  }
  if (running.size() > kMaxNamed) {
    names += " and " + std::to_string(running.size() - kMaxNamed) + " more";
  }
  const bool is_one = running.size() == 1;
  Note(kName, (is_one ? "process" : "processes") + names +
                  (is_one ? " still runs, and is profiled until it ends: then its profile is in "
                          : " still run, and are profiled until they end: then their profiles are "
                            "in ") +
                  record.output + "." + (is_one ? std::to_string(running.front()) : "PID"));
}

}  // namespace hbbp::tools
