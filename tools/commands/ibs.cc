// hbbp ibs: lists instructions, latencies and memory by instruction-based sampling. RunIbs reads
// the options and prints one of four tables: of instructions by events, a histogram of a latency,
// loads by level of memory (ibs_latencies.h), or accessed memory (ibs_data.h).
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "command.h"
#include "commands/ibs_data.h"
#include "commands/ibs_latencies.h"
#include "file_options.h"
#include "format.h"
#include "ibs_events.h"
#include "kernel_options.h"
#include "options.h"
#include "print_options.h"
#include "profile_view.h"
#include "table.h"

namespace hbbp::tools {
namespace {

constexpr char kName[] = "ibs";
constexpr uint64_t kTableRows = 20;
constexpr char kByInstruction[] = "instruction";
constexpr char kObject[] = "object";

struct Wanted {
  std::string by = kByInstruction;
  std::vector<std::string> events;
  uint64_t rows = 0;
};

// Splits "a,b" and "c" into three.
std::vector<std::string> SplitAtCommas(const std::vector<std::string>& lists) {
  std::vector<std::string> words;
  for (const std::string& list : lists) {
    for (size_t start = 0; start <= list.size();) {
      const size_t end = std::min(list.find(',', start), list.size());
      if (end != start) words.push_back(list.substr(start, end - start));
      start = end + 1;
    }
  }
  return words;
}

StatusOr<std::vector<std::string>> ChooseEvents(const std::vector<std::string>& wanted,
                                                const std::set<std::string>& occurred) {
  std::vector<std::string> events = wanted;
  if (events.empty()) {
    for (const char* event : kCommonIbsEvents) {
      if (occurred.contains(event)) events.push_back(event);
    }
  }
  for (const std::string& event : events) {
    if (occurred.contains(event)) continue;
    std::string known;
    for (const std::string& name : occurred) known += (known.empty() ? "" : ", ") + name;
    return MakeStatus(StatusCode::kNotFound, "--event %s: it did not occur; there are: %s",
                      event.c_str(), known.c_str());
  }
  return events;
}

StatusOr<Table> EventTable(const hbbp::analysis& analysis, const Wanted& wanted) {
  const std::vector<hbbp_module> modules = analysis.get_profile().modules();
  const std::vector<hbbp_function> functions = analysis.functions();
  const std::vector<hbbp_ibs_sum> sums = analysis.ibs_sums();
  std::set<std::string> occurred;
  for (const hbbp_ibs_sum& sum : sums) occurred.insert(sum.event);
  HBBP_ASSIGN_OR_RETURN(const std::vector<std::string> events,
                        ChooseEvents(wanted.events, occurred));

  const bool by_instruction = wanted.by == kByInstruction;
  const bool by_function = by_instruction || wanted.by == "function";
  using Key = std::tuple<uint32_t, uint32_t, uint64_t>;  // module, function, address
  std::map<Key, std::vector<uint64_t>> groups;
  std::vector<uint64_t> totals(events.size());
  for (const hbbp_ibs_sum& sum : sums) {
    const auto event = std::find(events.begin(), events.end(), sum.event);
    if (event == events.end()) continue;
    const auto column = static_cast<size_t>(event - events.begin());
    std::vector<uint64_t>& group = groups[{sum.module, by_function ? sum.function : HBBP_NO_INDEX,
                                           by_instruction ? sum.address : HBBP_NO_ADDRESS}];
    group.resize(events.size());
    group[column] += sum.sum;
    totals[column] += sum.sum;
  }
  std::vector<std::pair<Key, std::vector<uint64_t>>> rows(groups.begin(), groups.end());
  std::stable_sort(rows.begin(), rows.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });

  std::vector<Column> columns = {{"module", "module", Column::kPath}};
  if (by_instruction) columns.push_back({"address", "address", Column::kAddress});
  for (const std::string& event : events) columns.push_back({event, event, Column::kCount});
  if (by_function) columns.push_back({"function", "function", Column::kFunction});
  Table table(std::move(columns));
  const size_t shown = std::min<uint64_t>(wanted.rows, rows.size());
  for (size_t i = 0; i < shown; ++i) {
    const auto& [module, function, address] = rows[i].first;
    std::vector<Cell> cells(1);
    if (module < modules.size()) cells[0] = modules[module].path;
    if (by_instruction) {
      cells.emplace_back();
      if (address != HBBP_NO_ADDRESS) cells.back() = uint64_t{address};
    }
    for (const uint64_t value : rows[i].second) cells.emplace_back(value);
    if (by_function) {
      cells.emplace_back();
      if (function < functions.size()) cells.back() = Demangle(functions[function].name);
    }
    table.AddRow(std::move(cells));
  }
  for (size_t i = 0; i < events.size(); ++i) table.AddField("total_" + events[i], totals[i]);
  table.AddSummary(FormatCount(uint64_t{shown}) + " of " + FormatCount(uint64_t{rows.size()}) +
                   " rows");
  const uint64_t dropped = SumOfCounters(Sources(analysis), "ibs-sums-dropped");
  if (dropped != 0) table.AddNote(FormatCount(dropped) + " events of instructions found no room");
  AddCaveats(Sources(analysis), &table);
  AddCodeProblems(analysis, &table);
  if (sums.empty()) table.AddNote("there are no IBS samples; perf record -e ibs_op// takes some");
  return table;
}

StatusOr<Table> HistogramTable(const hbbp::profile& profile, const std::string& latency) {
  const std::vector<hbbp_ibs_bucket> buckets = profile.ibs_buckets();
  uint64_t total = 0;
  std::set<std::string> known;
  for (const hbbp_ibs_bucket& bucket : buckets) {
    known.insert(bucket.latency);
    if (latency == bucket.latency) total += bucket.samples;
  }
  if (!known.contains(latency)) {
    std::string names;
    for (const std::string& name : known) names += (names.empty() ? "" : ", ") + name;
    return MakeStatus(StatusCode::kNotFound, "--histogram %s: no sample has it; there are: %s",
                      latency.c_str(), names.empty() ? "none" : names.c_str());
  }
  Table table({{"first_cycles", "cycles from", Column::kCount},
               {"end_cycles", "to below", Column::kCount},
               {"samples", "samples", Column::kCount},
               {"share", "share", Column::kShare},
               {"cumulative_share", "cumulative", Column::kShare}});
  uint64_t so_far = 0;
  for (const hbbp_ibs_bucket& bucket : buckets) {
    if (latency != bucket.latency) continue;
    so_far += bucket.samples;
    const auto all = static_cast<double>(total);
    table.AddRow({bucket.first_cycles, bucket.end_cycles, bucket.samples,
                  static_cast<double>(bucket.samples) / all, static_cast<double>(so_far) / all});
  }
  table.AddField("latency", latency);
  table.AddField("samples", total);
  return table;
}

}  // namespace

int RunIbs(int argc, char** argv) {
  std::vector<std::string> files, events;
  Wanted wanted;
  uint64_t top = 0;
  std::string histogram, data;
  bool with_latencies = false;
  LatencyChoice loads;
  PrintOptions printing;
  Options options(kName, "Show what instruction-based sampling (IBS) reports of instructions");
  options.Profiles(&files, "profiles; several are added up");
  options.Choice("--by", &wanted.by, {kByInstruction, "function", "module"},
                 "what a row is (instruction)");
  options.Values("--event", &events, "NAME,..",
                 "columns, for instance op-loads,op-dc-misses; the first sorts");
  options.Value("--histogram", &histogram, "NAME",
                "a latency instead: tag-to-retire, completion-to-retire, dc-miss, dtlb-refill, "
                "fetch, itlb-refill");
  options.Flag("--latencies", &with_latencies,
               "latencies of loads by instruction and level of memory instead");
  options.Value("--function", &loads.function, "NAME",
                "--latencies: of the loads in it; mangled or not, with or without parameters");
  options.Value("--address", &loads.address, "ADDRESS",
                "--latencies: the histogram of one load, by its address as objdump has it");
  options.Value("--module", &loads.module, "MODULE",
                "--latencies: of this file, path or last part of it");
  options.Choice("--data", &data, {"line", "page", kObject},
                 "accessed memory instead, by address or by data object");
  options.Count("--top", &top, "only the first N; a table has 20 by default");
  printing.AddTo(&options);
  FileOptions moved;
  moved.AddTo(&options);
  KernelOptions kernel;
  kernel.AddTo(&options);
  options.Footer(
      "Events are those that AMD derives from IBS, also by AMD's names (ibs_ls_dc_miss). Names "
      "with\n"
      "-cycles are sums of cycles, others samples.");
  if (const std::optional<int> status = options.Parse(argc, argv)) return *status;
  if (!histogram.empty() + !data.empty() + with_latencies > 1) {
    return Fail(kName,
                "--histogram, --latencies and --data are listings of their own: give one of them");
  }
  if (!with_latencies &&
      !(loads.function.empty() && loads.address.empty() && loads.module.empty())) {
    return Fail(kName, "--function, --address and --module are of --latencies");
  }
  const bool is_of_events = histogram.empty() && data.empty() && !with_latencies;
  if (!is_of_events && !(events.empty() && wanted.by == kByInstruction)) {
    return Fail(kName, "--event and --by are not of --histogram, --latencies and --data");
  }

  for (const std::string& event : SplitAtCommas(events)) {
    wanted.events.push_back(OwnIbsEventName(event));
  }
  wanted.rows = top != 0 ? top : printing.is_table() ? kTableRows : UINT64_MAX;
  if (const Status read = moved.Read(); !read.ok()) return Fail(kName, read.message());
  const hbbp_kernel_files kernel_files = kernel.Files();
  hbbp_analysis_options how = {};
  how.kernel = &kernel_files;
  moved.SetTo(&how);
  const hbbp::profile profile = LoadProfiles(files);
  if (!data.empty() && data != kObject) {
    return printing.Print(kName, LineTable(profile, data == "page", wanted.rows));
  }
  if (!histogram.empty()) {
    const StatusOr<Table> table = HistogramTable(profile, histogram);
    return table.ok() ? printing.Print(kName, *table) : Fail(kName, table.status().message());
  }
  loads.instructions = wanted.rows;
  const hbbp::analysis analysis(profile, how);
  if (data == kObject) return printing.Print(kName, ObjectTable(analysis, wanted.rows));
  const StatusOr<Table> table =
      with_latencies ? LatencyTable(analysis, loads) : EventTable(analysis, wanted);
  if (!table.ok()) return Fail(kName, table.status().message());
  return printing.Print(kName, *table);
}

}  // namespace hbbp::tools
