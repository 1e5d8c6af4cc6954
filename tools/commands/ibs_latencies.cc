// LatencyTable() selects the latencies that the options want, groups them by instruction, and makes
// a table with a row for each of its levels of memory; with an address, one with a row for each
// bucket and a column for each level.
#include "commands/ibs_latencies.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "format.h"
#include "function_choice.h"
#include "profile_view.h"

namespace hbbp::tools {
namespace {

// The latencies of an instruction, by level and cycles.
using Instruction = std::span<const hbbp_ibs_latency>;

uint64_t CountLoads(Instruction latencies) {
  uint64_t loads = 0;
  for (const hbbp_ibs_latency& latency : latencies) loads += latency.samples;
  return loads;
}

// Splits at each change of the key.
template <typename Key>
std::vector<Instruction> SplitBy(std::span<const hbbp_ibs_latency> latencies, Key&& key) {
  std::vector<Instruction> parts;
  size_t start = 0;
  for (size_t i = 1; i <= latencies.size(); ++i) {
    if (i < latencies.size() && key(latencies[i]) == key(latencies[start])) continue;
    parts.push_back(latencies.subspan(start, i - start));
    start = i;
  }
  return parts;
}

std::vector<Instruction> SplitByInstruction(std::span<const hbbp_ibs_latency> latencies) {
  return SplitBy(latencies, [](const hbbp_ibs_latency& latency) {
    return std::pair(latency.module, latency.address);
  });
}

std::vector<Instruction> SplitByLevel(Instruction latencies) {
  return SplitBy(latencies,
                 [](const hbbp_ibs_latency& latency) { return std::string_view(latency.level); });
}

// Returns the number of cycles that at least this share of the loads was below.
uint64_t CyclesAbove(Instruction latencies, double share) {
  const double wanted = share * static_cast<double>(CountLoads(latencies));
  uint64_t loads = 0;
  for (const hbbp_ibs_latency& latency : latencies) {
    loads += latency.samples;
    if (static_cast<double>(loads) >= wanted) return latency.end_cycles;
  }
  return latencies.back().end_cycles;
}

bool IsOfModule(const std::vector<ModuleView>& modules, uint32_t module,
                const std::string& wanted) {
  if (wanted.empty()) return true;
  return module < modules.size() &&
         (wanted == modules[module].path || wanted == BaseName(modules[module].path));
}

StatusOr<std::vector<hbbp_ibs_latency>> Select(const hbbp::analysis& analysis,
                                               const LatencyChoice& choice) {
  const std::vector<ModuleView> modules = Modules(analysis);
  std::optional<uint64_t> address;
  if (!choice.address.empty()) {
    HBBP_ASSIGN_OR_RETURN(address, ParseAddress(choice.address));
  }
  std::set<uint32_t> functions;
  if (!choice.function.empty()) {
    HBBP_ASSIGN_OR_RETURN(
        const std::vector<uint32_t> chosen,
        ChooseFunctions(modules, analysis.functions(), {choice.function, "", choice.module, 0}));
    functions.insert(chosen.begin(), chosen.end());
  }
  std::vector<hbbp_ibs_latency> selected;
  for (const hbbp_ibs_latency& latency : analysis.ibs_latencies()) {
    if (address && latency.address != *address) continue;
    if (!choice.function.empty() && !functions.contains(latency.function)) continue;
    if (IsOfModule(modules, latency.module, choice.module)) selected.push_back(latency);
  }
  return selected;
}

class Names {
 public:
  explicit Names(const hbbp::analysis& analysis)
      : modules_(analysis.get_profile().modules()), functions_(analysis.functions()) {}

  std::string Module(const hbbp_ibs_latency& latency) const {
    return modules_[latency.module].path;
  }
  Cell Function(const hbbp_ibs_latency& latency) const {
    if (latency.function >= functions_.size()) return {};
    return Demangle(functions_[latency.function].name);
  }
  static Cell Address(const hbbp_ibs_latency& latency) {
    if (latency.address == HBBP_NO_ADDRESS) return {};
    return latency.address;
  }

 private:
  std::vector<hbbp_module> modules_;
  std::vector<hbbp_function> functions_;
};

Table InstructionsTable(const Names& names, std::vector<Instruction> instructions,
                        uint64_t wanted) {
  std::stable_sort(instructions.begin(), instructions.end(),
                   [](Instruction a, Instruction b) { return CountLoads(a) > CountLoads(b); });
  Table table({{"module", "module", Column::kPath},
               {"address", "address", Column::kAddress},
               {"level", "level"},
               {"samples", "loads", Column::kCount},
               {"share", "share", Column::kShare},
               {"half_below", "half below", Column::kCount},
               {"nine_tenths_below", "90 % below", Column::kCount},
               {"all_below", "all below", Column::kCount},
               {"function", "function", Column::kFunction}});
  uint64_t samples = 0;
  for (const Instruction instruction : instructions) samples += CountLoads(instruction);
  const size_t shown = std::min<uint64_t>(wanted, instructions.size());
  for (const Instruction instruction : std::span(instructions).first(shown)) {
    const auto loads = static_cast<double>(CountLoads(instruction));
    for (const Instruction level : SplitByLevel(instruction)) {
      const hbbp_ibs_latency& first = level.front();
      std::vector<Cell> cells = {names.Module(first), Names::Address(first), first.level,
                                 CountLoads(level), static_cast<double>(CountLoads(level)) / loads};
      const bool has_latency = std::string_view(first.level) != "l1";
      for (const double share : {0.5, 0.9, 1.0}) {
        cells.emplace_back();
        if (has_latency) cells.back() = CyclesAbove(level, share);
      }
      cells.push_back(names.Function(first));
      table.AddRow(std::move(cells));
    }
  }
  table.AddField("samples", samples);
  table.AddField("instructions", uint64_t{instructions.size()});
  table.AddSummary(FormatCount(uint64_t{shown}) + " of " +
                   FormatCount(uint64_t{instructions.size()}) + " instructions");
  return table;
}

// Returns the table of all latencies, which are of one instruction.
Table HistogramTable(const Names& names, Instruction latencies) {
  const std::vector<Instruction> levels = SplitByLevel(latencies);
  std::map<std::pair<uint64_t, uint64_t>, std::vector<uint64_t>> buckets;
  for (size_t i = 0; i < levels.size(); ++i) {
    for (const hbbp_ibs_latency& latency : levels[i]) {
      std::vector<uint64_t>& bucket = buckets[{latency.first_cycles, latency.end_cycles}];
      bucket.resize(levels.size());
      bucket[i] = latency.samples;
    }
  }
  std::vector<Column> columns = {{"first_cycles", "cycles from", Column::kCount},
                                 {"end_cycles", "to below", Column::kCount}};
  for (const Instruction level : levels) {
    columns.push_back({level.front().level, level.front().level, Column::kCount});
  }
  columns.push_back({"share", "share", Column::kShare});
  Table table(std::move(columns));
  const uint64_t all = CountLoads(latencies);
  for (const auto& [cycles, by_level] : buckets) {
    std::vector<Cell> cells = {cycles.first, cycles.second};
    uint64_t loads = 0;
    for (const uint64_t samples : by_level) {
      cells.emplace_back(samples);
      loads += samples;
    }
    cells.emplace_back(static_cast<double>(loads) / static_cast<double>(all));
    table.AddRow(std::move(cells));
  }
  const hbbp_ibs_latency& first = latencies.front();
  table.AddField("module", names.Module(first));
  table.AddField("address", FormatAddress(first.address));
  table.AddField("function", names.Function(first));
  table.AddField("samples", all);
  for (const Instruction level : levels) {
    table.AddField(std::string("total_") + level.front().level, CountLoads(level));
  }
  table.AddSummary(FormatCount(all) + " loads at " + FormatAddress(first.address));
  return table;
}

}  // namespace

StatusOr<Table> LatencyTable(const hbbp::analysis& analysis, const LatencyChoice& choice) {
  HBBP_ASSIGN_OR_RETURN(const std::vector<hbbp_ibs_latency> latencies, Select(analysis, choice));
  const std::vector<Instruction> instructions = SplitByInstruction(latencies);
  const Names names(analysis);
  const auto finished = [&](Table table) {
    const uint64_t dropped = SumOfCounters(Sources(analysis), "ibs-latencies-dropped");
    table.AddField("dropped", dropped);
    if (dropped != 0) table.AddNote(FormatCount(dropped) + " latencies found no room");
    AddCaveats(Sources(analysis), &table);
    AddCodeProblems(analysis, &table);
    return table;
  };
  if (choice.address.empty()) {
    return finished(InstructionsTable(names, instructions, choice.instructions));
  }
  if (instructions.empty()) {
    return MakeStatus(StatusCode::kNotFound, "--address %s: no load was sampled there",
                      choice.address.c_str());
  }
  if (instructions.size() > 1) {
    return MakeStatus(StatusCode::kInvalidArgument,
                      "--address %s: %zu modules have loads there; choose one by --module",
                      choice.address.c_str(), instructions.size());
  }
  return finished(HistogramTable(names, instructions.front()));
}

}  // namespace hbbp::tools
