// hbbp blocks: lists how often each basic block ran.
#include <algorithm>
#include <iterator>
#include <numeric>
#include <tuple>
#include <utility>
#include <vector>

#include "command.h"
#include "format.h"
#include "options.h"
#include "print_options.h"
#include "profile_options.h"
#include "profile_view.h"
#include "table.h"

namespace hbbp::tools {
namespace {

constexpr char kName[] = "blocks";
constexpr uint64_t kTableRows = 20;

double Instructions(const hbbp_block& block) { return block.count * block.instruction_count; }

struct BiasThresholds {
  double ratio = HBBP_BIAS_RATIO;
  double chance = HBBP_BIAS_CHANCE;
};

bool IsBiased(const hbbp_block& block, const BiasThresholds& thresholds) {
  return block.bias_ratio > 0 && block.bias_ratio >= thresholds.ratio &&
         block.bias_chance <= thresholds.chance;
}

// Returns how many of another event were sampled in each of `blocks`, which are by module and
// address.
std::vector<double> EventsIn(const std::vector<hbbp_block>& blocks, const OtherEvent& event) {
  std::vector<double> events(blocks.size());
  for (const hbbp_block& other : event.analysis.blocks()) {
    const auto after = std::upper_bound(
        blocks.begin(), blocks.end(), other, [](const hbbp_block& a, const hbbp_block& b) {
          return std::tie(a.module, a.start) < std::tie(b.module, b.start);
        });
    if (after == blocks.begin()) continue;
    const hbbp_block& block = *std::prev(after);
    const bool is_inside = block.module == other.module && other.start < block.end;
    if (is_inside) events[after - blocks.begin() - 1] += event.Events(Instructions(other));
  }
  return events;
}

Table MakeListing(const hbbp::analysis& analysis, uint64_t rows, const BiasThresholds& thresholds,
                  const std::vector<OtherEvent>& others, bool is_for_people) {
  const std::vector<hbbp_module> modules = analysis.get_profile().modules();
  const std::vector<hbbp_function> functions = analysis.functions();
  const std::vector<hbbp_block> blocks = analysis.blocks();
  double total = 0;
  for (const hbbp_block& block : blocks) total += Instructions(block);
  std::vector<size_t> order(blocks.size());
  std::iota(order.begin(), order.end(), 0);
  std::vector<std::vector<double>> events_of_others;
  for (const OtherEvent& other : others) events_of_others.push_back(EventsIn(blocks, other));
  std::sort(order.begin(), order.end(), [&blocks](size_t a, size_t b) {
    return std::tuple(-Instructions(blocks[a]), a) < std::tuple(-Instructions(blocks[b]), b);
  });

  std::vector<Column> columns = {{"module", "module", Column::kPath},
                                 {"start", "start", Column::kAddress},
                                 {"end", "end", Column::kAddress},
                                 {"instructions", "length", Column::kCount},
                                 {"count", "count", Column::kCount},
                                 {"standard_error", "std. error", Column::kError},
                                 {"share", "share", Column::kShare},
                                 {"source", "source"},
                                 {"bias", "bias"},
                                 {"function", "function", Column::kFunction}};
  if (!is_for_people) {
    columns.push_back({"bias_ratio", "", Column::kCount});
    columns.push_back({"bias_chance", "", Column::kCount});
  }
  for (const OtherEvent& other : others) AddEventColumn(other.name, &columns);
  Table table(std::move(columns));
  for (size_t i = 0; i < std::min<uint64_t>(rows, blocks.size()); ++i) {
    const hbbp_block& block = blocks[order[i]];
    Cell module;
    if (block.module < modules.size()) module = modules[block.module].path;
    Cell function;
    if (block.function < functions.size()) function = Demangle(functions[block.function].name);
    std::vector<Cell> row = {module,
                             block.start,
                             block.end,
                             uint64_t{block.instruction_count},
                             block.count,
                             block.standard_error,
                             total > 0 ? Instructions(block) / total : 0,
                             SourceName(block.source),
                             IsBiased(block, thresholds) ? "biased" : "",
                             function};
    if (!is_for_people) {
      row.emplace_back(block.bias_ratio);
      row.emplace_back(block.bias_chance);
    }
    for (const std::vector<double>& events : events_of_others) row.emplace_back(events[order[i]]);
    table.AddRow(std::move(row));
  }
  const auto biased = std::count_if(blocks.begin(), blocks.end(), [&](const hbbp_block& block) {
    return IsBiased(block, thresholds);
  });
  table.AddField("biased_blocks", static_cast<uint64_t>(biased));
  if (biased != 0) {
    table.AddNote(FormatCount(static_cast<uint64_t>(biased)) +
                  " blocks are biased: the oldest entry of branch stacks is one of their branches "
                  "too often, so that counts by lbr are suspect there");
  }
  table.AddField("total_instructions", total);
  table.AddField("blocks", uint64_t{blocks.size()});
  table.AddSummary(FormatCount(std::min<uint64_t>(rows, blocks.size())) + " of " +
                   FormatCount(uint64_t{blocks.size()}) + " blocks; " + FormatCount(total) +
                   " instructions in all");
  AddCaveats(Sources(analysis), &table);
  return table;
}

}  // namespace

int RunBlocks(int argc, char** argv) {
  std::vector<std::string> files;
  uint64_t top = 0;
  PrintOptions printing;
  BiasThresholds thresholds;
  Options options(kName, "List basic blocks by the instructions that they executed");
  options.Profiles(&files, "profiles; several are added up");
  options.Count("--top", &top, "only the first N; a table has 20 by default");
  options.Value(
      "--bias-ratio", &thresholds.ratio, "R",
      "a block is biased if its branches are the oldest of their branch stacks R times as "
      "often as expected (2)");
  options.Value("--bias-chance", &thresholds.chance, "P",
                "and if that is no more likely by chance than P (1e-6)");
  ProfileOptions profiles;
  profiles.AddOthersTo(&options);
  printing.AddTo(&options);
  profiles.AddTo(&options);
  options.Footer(
      "share: of all instructions that were executed. std. error: one sigma of count.\n"
      "length: instructions in the block.");
  if (const std::optional<int> status = options.Parse(argc, argv)) return *status;

  if (top == 0) top = printing.is_table() ? kTableRows : UINT64_MAX;
  const StatusOr<hbbp::analysis> analysis = profiles.Analyse(files);
  if (!analysis.ok()) return Fail(kName, analysis.status().message());
  return printing.Print(kName, MakeListing(*analysis, top, thresholds,
                                           profiles.AnalyseOthers(*analysis), printing.is_table()));
}

}  // namespace hbbp::tools
