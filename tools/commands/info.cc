// hbbp info: reports what is in a profile, and what was lost on the way into it. RunInfo reads the
// Contents of each file (ReadContents loads and analyses it), and prints them as text, as JSON, or
// as CSV with a row for each source.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>

#include "command.h"
#include "file_options.h"
#include "format.h"
#include "kernel_options.h"
#include "options.h"
#include "pivot_view.h"
#include "process_view.h"
#include "profile_view.h"
#include "table.h"

namespace hbbp::tools {
namespace {

using Json = nlohmann::ordered_json;

constexpr char kName[] = "info";

// Everything that is listed of one file. The strings are borrowed from `analysis`.
struct Contents {
  std::string file;
  hbbp::analysis analysis;
  hbbp_profile_info info = {};
  std::vector<SourceView> sources = {};
  std::vector<hbbp_thread> threads = {};
  std::vector<ProcessView> processes = {};
  std::map<uint32_t, double> instructions = {};  // by process, if there are several
  std::vector<ModuleView> modules = {};
  std::vector<hbbp_slice> slices = {};

  // A merged profile is of no process in particular.
  bool ListsProcesses() const {
    return processes.size() > 1 || (info.pid == 0 && !processes.empty());
  }
};

// Slices are of equal width.
uint64_t SliceWidth(const std::vector<hbbp_slice>& slices) {
  return slices.empty() ? 0 : slices.front().end_ns - slices.front().start_ns;
}

std::string SlicesText(const std::vector<hbbp_slice>& slices) {
  return FormatCount(uint64_t{slices.size()}) + " of " + FormatDuration(SliceWidth(slices)) +
         "; hbbp phases lists them";
}

std::map<uint32_t, double> InstructionsByProcess(const hbbp::analysis& analysis) {
  PivotRequest request;
  request.rows = {"process"};
  request.values = {"instructions"};
  const hbbp::pivot pivot = MakePivot(analysis, request);
  std::map<uint32_t, double> instructions;
  for (size_t row = 0; row < pivot.rows(); ++row) {
    const hbbp_pivot_label label = pivot.label(HBBP_PIVOT_ROWS, row);
    instructions[static_cast<uint32_t>(label.number)] = pivot.cell(row).value;
  }
  return instructions;
}

Contents ReadContents(const std::string& file, const FileOptions& files,
                      const KernelOptions& kernel) {
  const hbbp_kernel_files kernel_files = kernel.Files();
  hbbp_analysis_options options = {};
  options.kernel = &kernel_files;
  files.SetTo(&options);
  Contents contents{file, hbbp::analysis(LoadProfile(file), options)};
  const hbbp::profile_view profile = contents.analysis.get_profile();
  contents.info = profile.info();
  contents.sources = Sources(contents.analysis);
  contents.threads = profile.threads();
  contents.processes = ProcessesOf(contents.threads);
  if (contents.ListsProcesses()) {
    contents.instructions = InstructionsByProcess(contents.analysis);
  }
  contents.slices = profile.slices();
  contents.modules = Modules(contents.analysis);
  return contents;
}

std::string BuildId(const hbbp_module& module) {
  return FormatHex(module.build_id, module.build_id_size);
}

Json ToJson(const std::vector<hbbp_counter>& counters) {
  Json json = Json::object();
  for (const hbbp_counter& counter : counters) json[counter.name] = counter.value;
  return json;
}

Json ToJson(const SourceView& source) {
  return {{"kind", SourceName(source.kind)},
          {"event", EventName(source.event)},
          {"period", source.period},
          {"frequency_hz", source.frequency_hz},
          {"period_mode", PeriodModeName(source.period_mode)},
          {"unit", UnitName(source.unit)},
          {"include_kernel", source.include_kernel != 0},
          {"samples", source.samples},
          {"bursts", source.bursts},
          {"taken_branches", source.taken_branches},
          {"breakpoints", source.breakpoints},
          {"lookahead_instructions", source.lookahead_instructions},
          {"decoded_instructions", source.decoded_instructions},
          {"verified_branches", source.verified_branches},
          {"disagreements", source.disagreements},
          {"lost", source.lost},
          {"throttled", source.throttled},
          {"unmapped", source.unmapped},
          {"unexplained", source.unexplained},
          {"superseded", source.superseded},
          {"is_other_event", source.is_other_event},
          {"unexplained_reasons", ToJson(source.unexplained_reasons)},
          {"handler_ns", source.handler_ns},
          {"mode", source.mode},
          {"method", source.method},
          {"counters", ToJson(source.counters)},
          {"event_name", source.event_name},
          {"precise_ip", source.precise_ip},
          {"ebs_method", EbsMethodName(source.ebs_method)},
          {"smallest_period", source.smallest_period},
          {"largest_period", source.largest_period},
          {"extent_in_events", source.extent_in_events != 0},
          {"note", source.note},
          {"advice", SamplingAdvice(source)}};
}

Json ToJson(const Contents& contents) {
  Json json = {{"file", contents.file},
               {"pid", contents.info.pid},
               {"command", contents.info.command},
               {"host", contents.info.host},
               {"start_time_ns", contents.info.start_time_ns},
               {"duration_ns", contents.info.duration_ns},
               {"recordings", contents.info.recordings},
               {"slices", contents.slices.size()},
               {"slice_ns", SliceWidth(contents.slices)},
               {"kept_bursts", contents.info.kept_bursts},
               {"bursts_not_kept", contents.info.bursts_not_kept},
               {"sources", Json::array()},
               {"process_list", Json::array()},
               {"threads", contents.threads.size()},
               {"thread_list", Json::array()},
               {"modules", Json::array()}};
  for (const SourceView& source : contents.sources) {
    json["sources"].push_back(ToJson(source));
  }
  for (const ProcessView& process : contents.processes) {
    Json entry = {{"pid", process.pid},
                  {"name", process.name},
                  {"threads", process.threads},
                  {"samples", process.samples}};
    const auto counted = contents.instructions.find(process.pid);
    if (counted != contents.instructions.end()) entry["instructions"] = counted->second;
    json["process_list"].push_back(std::move(entry));
  }
  for (const hbbp_thread& thread : contents.threads) {
    json["thread_list"].push_back({{"pid", thread.pid},
                                   {"tid", thread.tid},
                                   {"name", thread.name},
                                   {"samples", thread.samples}});
  }
  for (const ModuleView& module : contents.modules) {
    json["modules"].push_back({{"name", module.path},
                               {"build_id", BuildId(module)},
                               {"kind", ModuleKindName(module.kind)},
                               {"samples", module.samples},
                               {"code", CodeName(module.code)},
                               {"patched_bytes", module.patched_bytes},
                               {"problem", module.problem}});
  }
  return json;
}

Table SourceTable(const std::vector<Contents>& files) {
  Table table({{"file", "file", Column::kPath},
               {"kind", "source"},
               {"event", "event"},
               {"period", "period", Column::kCount},
               {"frequency_hz", "frequency", Column::kCount},
               {"period_mode", "mode"},
               {"unit", "unit"},
               {"samples", "samples", Column::kCount},
               {"bursts", "bursts", Column::kCount},
               {"taken_branches", "taken branches", Column::kCount},
               {"breakpoints", "breakpoints", Column::kCount},
               {"lookahead_instructions", "look-ahead instructions", Column::kCount},
               {"decoded_instructions", "decoded instructions", Column::kCount},
               {"verified_branches", "verified branches", Column::kCount},
               {"disagreements", "disagreements", Column::kCount},
               {"handler_ns", "handlers (ns)", Column::kCount},
               {"trace_mode", "trace mode"},
               {"method", "method"},
               {"lost", "lost", Column::kCount},
               {"throttled", "throttled", Column::kCount},
               {"unmapped", "unmapped", Column::kCount},
               {"unexplained", "unexplained", Column::kCount},
               {"superseded", "superseded", Column::kCount},
               {"threads", "threads", Column::kCount},
               {"duration_ns", "duration (ns)", Column::kCount},
               {"note", "note"}});
  for (const Contents& contents : files) {
    for (const SourceView& source : contents.sources) {
      table.AddRow({contents.file,
                    SourceName(source.kind),
                    EventName(source.event),
                    source.period,
                    source.frequency_hz,
                    PeriodModeName(source.period_mode),
                    UnitName(source.unit),
                    source.samples,
                    source.bursts,
                    source.taken_branches,
                    source.breakpoints,
                    source.lookahead_instructions,
                    source.decoded_instructions,
                    source.verified_branches,
                    source.disagreements,
                    source.handler_ns,
                    source.mode,
                    source.method,
                    source.lost,
                    source.throttled,
                    source.unmapped,
                    source.unexplained,
                    source.superseded,
                    uint64_t{contents.threads.size()},
                    contents.info.duration_ns,
                    source.note});
    }
  }
  return table;
}

// Prefix of the counters of mispredicted branches, which have a line of their own.
constexpr char kWrongAt[] = "wrong at ";

bool IsWrongAt(const hbbp_counter& counter) {
  return std::strncmp(counter.name, kWrongAt, std::strlen(kWrongAt)) == 0;
}

// Lists only the counters of mispredictions, or only the others.
std::string CountersText(const std::vector<hbbp_counter>& counters, bool wrong_at) {
  std::string text;
  for (const hbbp_counter& counter : counters) {
    if (IsWrongAt(counter) != wrong_at) continue;
    const char* name = counter.name + (wrong_at ? std::strlen(kWrongAt) : 0);
    text += (text.empty() ? "" : ", ") + std::string(name) + " " + FormatCount(counter.value);
  }
  return text;
}

double Ratio(uint64_t part, uint64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

// Describes what software branch tracing did, in one line per aspect.
std::string TraceText(const SourceView& source) {
  if (source.kind != HBBP_SOURCE_SWBT) {
    return source.counters.empty() ? ""
                                   : "  counters  " + CountersText(source.counters, false) + "\n";
  }
  char per_branch[96];
  std::snprintf(per_branch, sizeof(per_branch), "%.3g breakpoints and %.1f ns in handlers each",
                Ratio(source.breakpoints, source.taken_branches),
                Ratio(source.handler_ns, source.taken_branches));
  std::string text = "  mode      " + std::string(source.mode) + "; " + source.method + "\n";
  text += "  branches  " + FormatCount(source.taken_branches) + " taken in " +
          FormatCount(source.bursts) + " bursts, " + per_branch + "\n";
  text += "  work      " + FormatCount(source.breakpoints) + " breakpoints, " +
          FormatCount(source.lookahead_instructions) + " instructions interpreted, " +
          FormatCount(source.decoded_instructions) + " decoded, " +
          FormatDuration(source.handler_ns) + " in handlers\n";
  if (source.verified_branches != 0 || source.disagreements != 0) {
    text += "  verified  " + FormatCount(source.verified_branches) + " branches, " +
            FormatCount(source.disagreements) + " of them wrong\n";
  }
  const std::string wrong_at = CountersText(source.counters, true);
  if (!wrong_at.empty()) text += "  wrong at  " + wrong_at + "\n";
  if (!source.counters.empty())
    text += "  counters  " + CountersText(source.counters, false) + "\n";
  return text;
}

// Returns for instance ", precise IP (2), corrected for IP+1".
std::string IpText(const SourceView& source) {
  std::string text;
  if (source.precise_ip != 0) text += ", precise IP (" + std::to_string(source.precise_ip) + ")";
  if (source.ebs_method == HBBP_EBS_IP_PLUS_ONE) text += ", corrected for IP+1";
  return text;
}

std::string SourceText(const SourceView& source) {
  std::string text = std::string(SourceName(source.kind)) + " of " + EventNameOf(source);
  if (source.period != 0) {
    text += ", a sample every " + FormatCount(source.period) + " " + UnitName(source.unit) + " (" +
            PeriodModeName(source.period_mode) + ")";
  } else if (source.frequency_hz != 0) {
    text += ", " + FormatCount(source.frequency_hz) + " samples a second";
  }
  if (source.smallest_period != source.largest_period) {
    text += ", periods " + FormatCount(source.smallest_period) + " to " +
            FormatCount(source.largest_period);
  }
  text += IpText(source);
  if (source.include_kernel != 0) text += ", kernel included";
  text += ": " + DescribeSamples(source) + ", " + FormatCount(source.lost) + " lost, throttled " +
          FormatCount(source.throttled) + " times, " + FormatCount(source.unmapped) +
          " unmapped, " + FormatCount(source.unexplained) + " unexplained";
  if (source.unexplained != 0) text += " (" + CountersText(source.unexplained_reasons, false) + ")";
  if (source.superseded != 0) {
    text += ", " + FormatCount(source.superseded) + " superseded by streams";
  }
  if (source.is_other_event) text += ", not counted: another event is";
  if (*source.note != '\0') text += std::string("; ") + source.note;
  return text;
}

// Recordings may be of several processes, and text may name none.
std::string ProcessText(const Contents& contents) {
  if (contents.info.pid != 0) return std::to_string(contents.info.pid);
  if (contents.processes.empty()) return "unknown";
  if (contents.processes.size() == 1) return TitleOf(contents.processes.front());
  return FormatCount(uint64_t{contents.processes.size()}) + " processes";
}

Table ProcessTable(const Contents& contents) {
  Table table({{"process", "process"},
               {"samples", "samples", Column::kCount},
               {"instructions", "instructions", Column::kCount},
               {"threads", "threads", Column::kCount}});
  for (const ProcessView& process : contents.processes) {
    const auto counted = contents.instructions.find(process.pid);
    const double instructions = counted == contents.instructions.end() ? 0 : counted->second;
    table.AddRow({TitleOf(process), process.samples, instructions, process.threads});
  }
  return table;
}

std::string ToText(const Contents& contents) {
  const hbbp_profile_info& info = contents.info;
  std::string out = "profile   " + contents.file + "\n";
  out += "command   " + std::string(info.command) + "\n";
  out += "process   " + ProcessText(contents) + "\n";
  out += "host      " + std::string(info.host) + "\n";
  if (info.recordings > 1) out += "sum of    " + FormatCount(info.recordings) + " recordings\n";
  out += "duration  " + FormatDuration(info.duration_ns) + "\n";
  if (!contents.slices.empty()) out += "slices    " + SlicesText(contents.slices) + "\n";
  if (info.kept_bursts != 0 || info.bursts_not_kept != 0) {
    out += "bursts    " + FormatCount(info.kept_bursts) + " kept whole, " +
           FormatCount(info.bursts_not_kept) + " without room\n";
  }
  for (const SourceView& source : contents.sources) {
    out += "source    " + SourceText(source) + "\n" + TraceText(source);
    for (const std::string& advice : SamplingAdvice(source)) out += "  advice    " + advice + "\n";
  }

  Table threads({{"tid", "thread"}, {"samples", "samples", Column::kCount}, {"name", "name"}});
  for (const hbbp_thread& thread : contents.threads) {
    threads.AddRow({uint64_t{thread.tid}, thread.samples, thread.name});
  }
  Table modules({{"samples", "samples", Column::kCount},
                 {"code", "code"},
                 {"build_id", "build ID"},
                 {"name", "module"},
                 {"problem", "problem"}});
  std::vector<ModuleView> sampled = contents.modules;
  std::erase_if(sampled, [](const ModuleView& module) { return module.samples == 0; });
  std::sort(sampled.begin(), sampled.end(), [](const ModuleView& a, const ModuleView& b) {
    return a.samples != b.samples ? a.samples > b.samples : std::strcmp(a.path, b.path) < 0;
  });
  for (const ModuleView& module : sampled) {
    modules.AddRow(
        {module.samples, CodeName(module.code), BuildId(module), module.path, module.problem});
  }
  for (const ModuleView& module : sampled) {
    if (module.patched_bytes == 0) continue;
    modules.AddSummary(
        FormatCount(module.patched_bytes) + " bytes of the sampled functions of " + module.path +
        " were rewritten since its vmlinux was linked; counted is what was in memory");
  }
  if (sampled.size() < contents.modules.size()) {
    modules.AddSummary(std::to_string(contents.modules.size() - sampled.size()) +
                       " more modules have no samples");
  }
  for (std::string& note : Caveats(contents.sources)) modules.AddNote(std::move(note));
  if (contents.ListsProcesses()) out += '\n' + ProcessTable(contents).ToText();
  return out + '\n' + threads.ToText() + '\n' + modules.ToText();
}

}  // namespace

int RunInfo(int argc, char** argv) {
  std::vector<std::string> paths;
  std::string format = "table";
  Options options(kName, "Show what is in a profile: sources, losses, processes, threads, modules");
  options.Profiles(&paths, "profiles; each is shown");
  options.Choice("--format", &format, FormatNames(),
                 "how to print (table); csv has a row for each source");
  FileOptions moved;
  moved.AddTo(&options);
  KernelOptions kernel;
  kernel.AddTo(&options);
  if (const std::optional<int> status = options.Parse(argc, argv)) return *status;

  std::vector<Contents> files;
  if (const Status read = moved.Read(); !read.ok()) return Fail(kName, read.message());
  for (const std::string& path : paths) files.push_back(ReadContents(path, moved, kernel));

  const Format printed = FormatFromName(format);
  if (printed == Format::kCsv) return SourceTable(files).Print(kName, Format::kCsv);
  std::string out;
  if (printed == Format::kJson) {
    Json json;
    if (files.size() == 1) {
      json = ToJson(files.front());
    } else {
      json["profiles"] = Json::array();
      for (const Contents& contents : files) json["profiles"].push_back(ToJson(contents));
    }
    out = json.dump(2, ' ', false, Json::error_handler_t::replace) + '\n';
  } else {
    for (const Contents& contents : files) {
      if (!out.empty()) out += '\n';
      out += ToText(contents);
    }
  }
  return WriteOutput(kName, out);
}

}  // namespace hbbp::tools
