// hbbp diff: compares two mixes, before and after, and sorts rows by what changed most. RunDiff
// reads the options, makes a pivot of each of the two profiles, adds the rows of both to a MixDiff,
// and prints that as a table.
#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "command.h"
#include "commands/mix_diff.h"
#include "debug_info_options.h"
#include "format.h"
#include "options.h"
#include "pivot_view.h"
#include "print_options.h"
#include "profile_options.h"
#include "profile_view.h"
#include "table.h"

namespace hbbp::tools {
namespace {

constexpr char kName[] = "diff";
constexpr uint64_t kTableRows = 20;

struct Request {
  PivotRequest pivot;
  bool is_absolute = false;
  MixDiffOrder order = MixDiffOrder::kChange;
  uint64_t top = 0;  // 0: all
  Format format = Format::kTable;
};

// One of the two profiles, with its pivot.
struct Side {
  std::string file;
  hbbp::pivot pivot;
  std::string unit = {};
  bool is_up_to_factor = false;
  std::vector<std::string> notes = {};  // what its reader must know
};

Side MakeSide(const std::string& file, const hbbp::analysis& analysis, const Request& request) {
  Side side{file, MakePivot(analysis, request.pivot)};
  const std::vector<SourceView> sources = Sources(analysis);
  side.unit = UnitOf(sources);
  side.is_up_to_factor = IsUpToFactor(sources);
  side.notes = CollectNotes(analysis, sources);
  if (!NeedsLines(request.pivot)) return side;
  const std::vector<std::string> of_lines = DebugInfoOptions::Problems(analysis);
  side.notes.insert(side.notes.end(), of_lines.begin(), of_lines.end());
  return side;
}

// The two sides may be files of one name in different directories. But where one side has several
// files of that name, only their directories distinguish them.
std::set<std::string> FindAmbiguousNames(const Side& side, const std::vector<std::string>& keys) {
  std::set<std::string> ambiguous;
  for (size_t key = 0; key < keys.size(); ++key) {
    if (KindOfKey(keys[key]) != Column::kPath) continue;
    std::map<std::string, std::string> paths;  // by last part
    for (size_t row = 0; row < side.pivot.rows(); ++row) {
      const hbbp_pivot_label label = side.pivot.label(HBBP_PIVOT_ROWS, row, key);
      const std::string name = LabelText(keys[key], label);
      if (paths.try_emplace(name, label.text).first->second != label.text) ambiguous.insert(name);
    }
  }
  return ambiguous;
}

std::vector<std::string> MakeLabels(const Side& side, size_t row,
                                    const std::vector<std::string>& keys,
                                    const std::set<std::string>& ambiguous) {
  std::vector<std::string> labels;
  for (size_t key = 0; key < keys.size(); ++key) {
    const hbbp_pivot_label label = side.pivot.label(HBBP_PIVOT_ROWS, row, key);
    std::string name = LabelText(keys[key], label);
    const bool is_path = KindOfKey(keys[key]) == Column::kPath;
    labels.push_back(is_path && ambiguous.contains(name) ? label.text : std::move(name));
  }
  return labels;
}

// Returns the value of all rows.
double AddSide(const Side& side, const Request& request, const std::set<std::string>& ambiguous,
               void (MixDiff::*add)(std::vector<std::string>, Measured), MixDiff* diff) {
  for (size_t row = 0; row < side.pivot.rows(); ++row) {
    const hbbp_pivot_cell cell = side.pivot.cell(row);
    const Measured measured = request.is_absolute ? Measured{cell.value, cell.standard_error}
                                                  : Measured{cell.share, cell.share_error};
    (diff->*add)(MakeLabels(side, row, request.pivot.rows, ambiguous), measured);
  }
  return side.pivot.cell(HBBP_PIVOT_ALL).value;
}

Cell ZCell(double z, Format format) {
  if (!std::isfinite(z)) return Cell();
  return format == Format::kTable ? Cell(FormatFactor(z)) : Cell(z);
}

Cell ProbabilityCell(std::optional<double> p, Format format) {
  if (!p) return Cell();
  if (format != Format::kTable) return *p;
  constexpr double kNone = 1e-6;
  return *p < kNone ? std::string("< 1e-6") : FormatFactor(*p);
}

// Adds a value and its error. In a table, both have the digits that the error allows.
void AddMeasured(double value, double error, const Request& request, bool has_sign,
                 std::vector<Cell>* cells) {
  if (request.format != Format::kTable) {
    cells->insert(cells->end(), {value, error});
    return;
  }
  const MeasuredText text = request.is_absolute
                                ? FormatMeasured(value, error)
                                : MeasuredText{FormatShare(value), FormatShare(error)};
  cells->emplace_back((has_sign && value > 0 ? "+" : "") + text.value);
  cells->emplace_back("± " + text.error);
}

std::vector<Column> ColumnsOf(const Request& request) {
  std::vector<Column> columns;
  for (const std::string& key : request.pivot.rows) {
    const bool is_function = KindOfKey(key) == Column::kFunction;
    columns.push_back({JsonKey(key), key, is_function ? Column::kFunction : Column::kText});
  }
  const Column::Kind number = request.is_absolute ? Column::kCount : Column::kShare;
  columns.push_back({"before", "before", number});
  columns.push_back({"before_error", "std. error", Column::kError});
  columns.push_back({"after", "after", number});
  columns.push_back({"after_error", "std. error", Column::kError});
  columns.push_back({"change", "change", Column::kCount});
  columns.push_back({"change_error", "std. error", Column::kError});
  columns.push_back({"z", "z", Column::kError});
  columns.push_back({"p", "p", Column::kError});
  return columns;
}

std::vector<Cell> MakeCells(const MixDiffRow& row, const Request& request) {
  std::vector<Cell> cells(row.labels.begin(), row.labels.end());
  AddMeasured(row.before.value, row.before.standard_error, request, false, &cells);
  AddMeasured(row.after.value, row.after.standard_error, request, false, &cells);
  AddMeasured(row.Change(), row.ChangeError(), request, true, &cells);
  cells.push_back(ZCell(row.Z(), request.format));
  cells.push_back(ProbabilityCell(row.P(), request.format));
  return cells;
}

// Notes that are the same for both profiles are printed once.
void AddNotes(const Side& before, const Side& after, Table* table) {
  const auto has = [](const Side& side, const std::string& note) {
    return std::find(side.notes.begin(), side.notes.end(), note) != side.notes.end();
  };
  for (const std::string& note : before.notes) {
    table->AddNote(before.file + (has(after, note) ? ", " + after.file : "") + ": " + note);
  }
  for (const std::string& note : after.notes) {
    if (!has(before, note)) table->AddNote(after.file + ": " + note);
  }
}

Table MakeListing(const Side& before, const Side& after, const Request& request) {
  std::set<std::string> ambiguous = FindAmbiguousNames(before, request.pivot.rows);
  ambiguous.merge(FindAmbiguousNames(after, request.pivot.rows));
  MixDiff diff;
  const double total_before = AddSide(before, request, ambiguous, &MixDiff::AddBefore, &diff);
  const double total_after = AddSide(after, request, ambiguous, &MixDiff::AddAfter, &diff);
  const std::vector<MixDiffRow> rows = diff.Sorted(request.order);
  Table table(ColumnsOf(request));
  const size_t shown = request.top == 0 ? rows.size() : std::min<size_t>(request.top, rows.size());
  for (size_t i = 0; i < shown; ++i) table.AddRow(MakeCells(rows[i], request));
  const std::string& value = request.pivot.values.front();
  table.AddField("value", value);
  table.AddField("normalised", uint64_t{request.is_absolute ? 0u : 1u});
  table.AddField("total_before", total_before);
  table.AddField("total_after", total_after);
  table.AddField("unit_before", before.unit);
  table.AddField("unit_after", after.unit);
  table.AddSummary(FormatCount(uint64_t{shown}) + " of " + FormatCount(uint64_t{rows.size()}) +
                   " rows; " + FormatCount(total_before) + " " + value + " before, " +
                   FormatCount(total_after) + " after" +
                   (request.is_absolute ? "" : "; shares are of each of them"));
  if (rows.empty() && !request.pivot.where.empty()) table.AddNote(kNothingMatches);
  const bool is_scaled = before.is_up_to_factor || after.is_up_to_factor;
  if (request.is_absolute && (is_scaled || before.unit != after.unit)) {
    table.AddNote(
        "counts are up to a factor, which need not be the same in both profiles: shares, "
        "without --absolute, can be compared");
  }
  AddNotes(before, after, &table);
  return table;
}

}  // namespace

int RunDiff(int argc, char** argv) {
  std::vector<std::string> files, by;
  std::string groups, value = "instructions", sort = "change";
  PrintOptions printing;
  Request request;
  Options options(kName, "Show what changed between two mixes");
  options.Positionals("BEFORE AFTER", &files, 2, 2, "two profiles");
  options.Values("--by", &by, "KEY,...", "what a row stands for, as in hbbp mix (mnemonic)");
  options.Value("--value", &value, "VALUE", "what is compared, as in hbbp mix (instructions)");
  options.Value("--where", &request.pivot.where, "CONDITION", "only what matches, as in hbbp mix");
  options.Value("--groups", &groups, "FILE", "groups of instructions, each a key by its name");
  options.Flag("--absolute", &request.is_absolute, "numbers instead of shares of each profile");
  options.Choice("--sort", &sort, {"change", "significance"}, "what is first (change)");
  options.Count("--top", &request.top, "only the first N; a table has 20 by default");
  printing.AddTo(&options);
  DebugInfoOptions debug_info(kName);
  debug_info.AddTo(&options);
  ProfileOptions profiles;
  profiles.AddTo(&options);
  if (const std::optional<int> status = options.Parse(argc, argv)) return *status;

  StatusOr<std::vector<std::string>> rows = SplitLists("--by", by);
  if (!rows.ok()) return Fail(kName, rows.status().message());
  if (value.find(',') != std::string::npos) {
    return Fail(kName, "--value: '" + value + "' is more than the one value that is compared");
  }
  request.pivot.rows = by.empty() ? std::vector<std::string>{"mnemonic"} : *std::move(rows);
  AddModuleOfAddresses(&request.pivot.rows);
  request.pivot.values = {value};
  request.pivot.join_names = true;
  request.order = sort == "change" ? MixDiffOrder::kChange : MixDiffOrder::kSignificance;
  request.format = printing.format();
  if (request.top == 0 && request.format == Format::kTable) request.top = kTableRows;

  const std::optional<hbbp::taxonomy> taxonomy = LoadGroups(groups);
  if (taxonomy) request.pivot.taxonomy = &*taxonomy;
  const auto analyses = profiles.AnalyseEach(files, &debug_info);
  if (!analyses.ok()) return Fail(kName, analyses.status().message());
  const Side before = MakeSide(files[0], analyses->front(), request);
  const Side after = MakeSide(files[1], analyses->back(), request);
  debug_info.EndProgress();
  return printing.Print(kName, MakeListing(before, after, request));
}

}  // namespace hbbp::tools
