// hbbp loops: lists the loops that ran, their trip counts, and what they executed.
#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

#include "command.h"
#include "format.h"
#include "function_choice.h"
#include "options.h"
#include "print_options.h"
#include "profile_options.h"
#include "profile_view.h"
#include "table.h"

namespace hbbp::tools {
namespace {

constexpr char kName[] = "loops";
constexpr uint64_t kTableRows = 20;

const char* BasisName(hbbp_trip_basis basis) {
  switch (basis) {
    case HBBP_TRIPS_BY_BRANCHES:
      return "branches";
    case HBBP_TRIPS_BY_COUNTS:
      return "counts";
    default:
      return "";
  }
}

Cell Known(double number) { return number > 0 ? Cell(number) : Cell(); }
// An error of 0 is valid only if there is a number.
Cell KnownError(double error, double number) { return number > 0 ? Cell(error) : Cell(); }

struct Wanted {
  FunctionChoice functions;
  uint64_t rows = 0;
};

std::vector<Column> Columns(bool is_for_people) {
  std::vector<Column> columns = {{"module", "module", Column::kPath},
                                 {"header", "header", Column::kAddress},
                                 {"depth", "depth", Column::kCount},
                                 {"blocks", "blocks", Column::kCount},
                                 {"entries", "entries", Column::kCount},
                                 {"iterations", "iterations", Column::kCount},
                                 {"trip_count", "trip count", Column::kFactor},
                                 {"trip_count_error", "std. error", Column::kFactorError},
                                 {"trip_basis", "by"},
                                 {"instructions", "instructions", Column::kCount},
                                 {"instructions_error", "std. error", Column::kError},
                                 {"share", "share", Column::kShare},
                                 {"own_share", "own", Column::kShare},
                                 {"function", "function", Column::kFunction}};
  if (is_for_people) return columns;
  for (const char* key : {"loop", "parent", "irreducible"}) columns.push_back({key, ""});
  for (const char* key :
       {"entries_error", "iterations_error", "trip_count_by_branches",
        "trip_count_by_branches_error", "trip_count_by_counts", "trip_count_by_counts_error",
        "own_instructions", "own_instructions_error"}) {
    columns.push_back({key, "", Column::kCount});
  }
  return columns;
}

StatusOr<Table> MakeListing(const hbbp::analysis& analysis, const Wanted& wanted,
                            bool is_for_people) {
  const std::vector<ModuleView> modules = Modules(analysis);
  const std::vector<hbbp_function> functions = analysis.functions();
  const std::vector<hbbp_loop> loops = analysis.find_loops().list();
  const double total = TotalInstructions(functions);
  const auto share = [total](double instructions) { return total > 0 ? instructions / total : 0; };
  const auto module_of = [&](const hbbp_loop& loop) {
    return std::string(loop.module < modules.size() ? modules[loop.module].path : "");
  };
  const auto symbol_of = [&](const hbbp_loop& loop) {
    return std::string(loop.function < functions.size() ? functions[loop.function].name : "");
  };

  std::vector<bool> is_chosen(functions.size(), true);
  if (!wanted.functions.module.empty() || !wanted.functions.function.empty()) {
    HBBP_ASSIGN_OR_RETURN(const auto chosen, ChooseFunctions(modules, functions, wanted.functions));
    is_chosen.assign(functions.size(), false);
    for (const uint32_t function : chosen) is_chosen[function] = true;
  }

  std::vector<uint64_t> rows;
  double in_loops = 0;
  for (uint64_t i = 0; i < loops.size(); ++i) {
    in_loops += loops[i].own_instructions;
    if (loops[i].function < is_chosen.size() && is_chosen[loops[i].function]) rows.push_back(i);
  }
  std::sort(rows.begin(), rows.end(), [&](uint64_t a, uint64_t b) {
    return std::tuple(-loops[a].instructions, a) < std::tuple(-loops[b].instructions, b);
  });
  const uint64_t found = rows.size();
  rows.resize(std::min<uint64_t>(rows.size(), wanted.rows));

  Table table(Columns(is_for_people));
  for (const uint64_t index : rows) {
    const hbbp_loop& loop = loops[index];
    const bool is_irreducible = (loop.flags & HBBP_LOOP_IRREDUCIBLE) != 0;
    const char* const basis =
        is_irreducible && is_for_people ? "irreducible" : BasisName(loop.trip_basis);
    std::vector<Cell> row = {module_of(loop),
                             loop.header,
                             uint64_t{loop.depth},
                             uint64_t{loop.blocks},
                             Known(loop.entries),
                             Known(loop.iterations),
                             Known(loop.trip_count),
                             KnownError(loop.trip_count_error, loop.trip_count),
                             basis,
                             loop.instructions,
                             loop.instructions_error,
                             share(loop.instructions),
                             share(loop.own_instructions),
                             Demangle(symbol_of(loop).c_str())};
    if (!is_for_people) {
      row.emplace_back(index);
      row.push_back(loop.parent == HBBP_NO_INDEX ? Cell() : Cell(uint64_t{loop.parent}));
      row.emplace_back(uint64_t{is_irreducible});
      row.push_back(KnownError(loop.entries_error, loop.entries));
      row.push_back(KnownError(loop.iterations_error, loop.iterations));
      row.push_back(Known(loop.trip_count_by_branches));
      row.push_back(KnownError(loop.trip_count_by_branches_error, loop.trip_count_by_branches));
      row.push_back(Known(loop.trip_count_by_counts));
      row.push_back(KnownError(loop.trip_count_by_counts_error, loop.trip_count_by_counts));
      row.emplace_back(loop.own_instructions);
      row.emplace_back(loop.own_instructions_error);
    }
    table.AddRow(std::move(row));
  }
  table.AddField("total_instructions", total);
  table.AddField("instructions_in_loops", in_loops);
  table.AddField("loops", uint64_t{loops.size()});
  table.AddSummary(FormatCount(uint64_t{rows.size()}) + " of " + FormatCount(found) + " loops; " +
                   FormatShare(share(in_loops)) + " of " + FormatCount(total) +
                   " instructions are in loops");
  AddCaveats(Sources(analysis), &table);
  AddCodeProblems(analysis, &table);
  return table;
}

}  // namespace

int RunLoops(int argc, char** argv) {
  std::vector<std::string> files;
  Wanted wanted;
  PrintOptions printing;
  Options options(kName, "List loops by the instructions that they executed");
  options.Profiles(&files, "profiles; several are added up");
  options.Count("--top", &wanted.rows, "only the first N; a table has 20 by default");
  options.Value("--module", &wanted.functions.module, "M",
                "only those of the module, path or last part of it");
  options.Value("--function", &wanted.functions.function, "F",
                "only those of the function, mangled or not, with or without parameters");
  printing.AddTo(&options);
  ProfileOptions profiles;
  profiles.AddTo(&options);
  options.Footer(
      "trip count: iterations by entries, on average; by: whether it is from taken branches, or\n"
      "counts of blocks. Empty where it is unknown. std. error: one sigma of what is before it.\n"
      "share: of all instructions that were executed; own: without loops within the loop.\n"
      "irreducible: can be entered at several blocks, of which the header is one.");
  if (const std::optional<int> status = options.Parse(argc, argv)) return *status;

  if (wanted.rows == 0) wanted.rows = printing.is_table() ? kTableRows : UINT64_MAX;
  const StatusOr<hbbp::analysis> analysis = profiles.Analyse(files);
  if (!analysis.ok()) return Fail(kName, analysis.status().message());
  const StatusOr<Table> table = MakeListing(*analysis, wanted, printing.is_table());
  if (!table.ok()) return Fail(kName, table.status().message());
  return printing.Print(kName, *table);
}

}  // namespace hbbp::tools
