// hbbp simd: what of a program is vector code. MakeSummary lists shares of the whole profile by
// vector width, packing and element; MakeListing has a row for each function, loop or other key,
// those with most floating-point work in scalar code first.
#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "command.h"
#include "debug_info_options.h"
#include "format.h"
#include "measured.h"
#include "options.h"
#include "pivot_shares.h"
#include "pivot_view.h"
#include "print_options.h"
#include "profile_options.h"
#include "profile_view.h"
#include "table.h"

namespace hbbp::tools {
namespace {

constexpr char kName[] = "simd";
constexpr uint64_t kTableRows = 20;

constexpr char kInstructions[] = "instructions";
constexpr char kFlops[] = "flops";
constexpr char kPacked[] = "packing = packed";
// What computes, as processors count it. Moves, conversions and comparisons do not.
constexpr char kComputes[] = "flops > 0";
constexpr char kMasked[] = "masking != none";
// Only code for MMX has the narrowest; tables leave it out.
constexpr std::string_view kNarrowest = "64";
constexpr std::string_view kWidths[] = {kNarrowest, "128", "256", "512"};

struct Request {
  std::vector<std::string> keys;
  std::string where;
  uint64_t top = 0;  // 0: all
  Format format = Format::kTable;

  PivotRequest Pivot(std::vector<std::string> rows, const std::string& condition,
                     const char* value = kInstructions) const {
    PivotRequest pivot;
    pivot.rows = std::move(rows);
    pivot.values = {value};
    pivot.where = condition.empty() ? where : BothConditions(where, condition);
    return pivot;
  }
};

// The names of one group of the summary, by one key of a pivot.
struct SummaryGroup {
  const char* name;
  const char* key;
  const char* condition;  // of the whole that shares are of
  const char* value;
  const char* whole;               // what it is
  std::vector<const char*> names;  // that are there even if they are 0
  const char* hidden = "";         // a name that says what is in none of the others
};

const std::vector<SummaryGroup>& SummaryGroups() {
  static const std::vector<SummaryGroup> groups = {
      {"width",
       "width",
       "",
       kInstructions,
       "instructions",
       {"no-vector", "scalar", "64-bit", "128-bit", "256-bit", "512-bit"}},
      {"floating-point",
       "packing",
       kComputes,
       kInstructions,
       "floating-point instructions",
       {"scalar", "packed"}},
      {"flops",
       "packing",
       "",
       kFlops,
       "operations on floating point",
       {"scalar", "packed"},
       "none"},
      {"element", "element", kPacked, kInstructions, "packed instructions", {}},
      {"masking",
       "masking",
       kPacked,
       kInstructions,
       "packed instructions",
       {"merging", "zeroing", "selecting"},
       "none"}};
  return groups;
}

void AddGroup(const hbbp::analysis& analysis, const Request& request, const SummaryGroup& group,
              Table* table) {
  const hbbp::pivot pivot =
      MakePivot(analysis, request.Pivot({group.key}, group.condition, group.value));
  std::vector<std::string> names(group.names.begin(), group.names.end());
  std::map<std::string, hbbp_pivot_cell> cells;
  for (size_t row = 0; row < pivot.rows(); ++row) {
    const std::string name = pivot.label(HBBP_PIVOT_ROWS, row).text;
    cells[name] = pivot.cell(row);
    const bool is_listed = std::find(names.begin(), names.end(), name) != names.end();
    if (!is_listed && name != group.hidden) names.push_back(name);
  }
  const bool has_whole = pivot.cell(HBBP_PIVOT_ALL).value > 0;
  for (const std::string& name : names) {
    const hbbp_pivot_cell& cell = cells[name];
    table->AddRow(
        {group.name, name, cell.value, cell.standard_error, has_whole ? Cell(cell.share) : Cell(),
         has_whole ? ShareErrorCell(cell.share_error, request.format) : Cell(), group.whole});
  }
}

Table MakeSummary(const hbbp::analysis& analysis, const Request& request) {
  Table table({{"group", "group"},
               {"name", "name"},
               {"value", "number", Column::kCount},
               {"standard_error", "std. error", Column::kError},
               {"share", "share", Column::kShare},
               {"share_error", "std. error", Column::kError},
               {"of", "of"}});
  for (const SummaryGroup& group : SummaryGroups()) AddGroup(analysis, request, group, &table);
  return table;
}

// A row of the listing, by its line in the pivot of all instructions.
struct Row {
  size_t line = 0;
  RowLabels labels;
  hbbp_pivot_cell all;
  hbbp_pivot_cell scalar_computing;
};

// Returns the cells of one column, which need not be there, by the labels of their rows.
std::map<RowLabels, hbbp_pivot_cell> FindColumn(const hbbp::pivot& pivot, std::string_view name) {
  std::map<RowLabels, hbbp_pivot_cell> cells;
  for (size_t column = 0; column < pivot.columns(); ++column) {
    if (pivot.label(HBBP_PIVOT_COLUMNS, column).text != name) continue;
    for (size_t row = 0; row < pivot.rows(); ++row) {
      cells[FindRowLabels(pivot, row)] = pivot.cell(row, column);
    }
  }
  return cells;
}

// Listing has the pivots that rows of the listing are made of.
class Listing {
 public:
  Listing(const hbbp::analysis& analysis, const Request& request)
      : request_(request),
        all_(MakePivot(analysis, request.Pivot(request.keys, ""))),
        packed_(ShareRows(analysis, request.Pivot(request.keys, ""), kPacked)),
        masked_(SumRows(analysis, request.Pivot(request.keys, kMasked))),
        scalar_computing_(FindColumn(MakePivot(analysis, ByPacking(request)), "scalar")),
        packed_of_computing_(ShareRows(analysis, request.Pivot(request.keys, kComputes), kPacked)) {
    for (const std::string_view width : kWidths) {
      const std::string condition = BothConditions(kPacked, "vector-bits = " + std::string(width));
      of_widths_.push_back(SumRows(analysis, request.Pivot(request.keys, condition)));
    }
  }

  Table Make() const {
    Table table(Columns());
    const std::vector<Row> rows = SortedRows();
    const size_t shown =
        request_.top == 0 ? rows.size() : std::min<size_t>(request_.top, rows.size());
    for (size_t i = 0; i < shown; ++i) table.AddRow(MakeCells(rows[i]));
    const double total = all_.cell(HBBP_PIVOT_ALL).value;
    table.AddField("total_instructions", total);
    table.AddSummary(FormatCount(uint64_t{shown}) + " of " + FormatCount(uint64_t{rows.size()}) +
                     " rows; " + FormatCount(total) + " instructions in all");
    return table;
  }

 private:
  // What computes on floating point, by packing.
  static PivotRequest ByPacking(const Request& request) {
    PivotRequest pivot = request.Pivot(request.keys, kComputes);
    pivot.columns = {"packing"};
    return pivot;
  }

  // Those with most floating-point work in scalar code come first.
  std::vector<Row> SortedRows() const {
    std::vector<Row> rows;
    for (size_t line = 0; line < all_.rows(); ++line) {
      Row& row = rows.emplace_back(Row{line, FindRowLabels(all_, line), all_.cell(line), {}});
      const auto scalar = scalar_computing_.find(row.labels);
      if (scalar != scalar_computing_.end()) row.scalar_computing = scalar->second;
    }
    std::stable_sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) {
      return std::pair(a.scalar_computing.value, a.all.value) >
             std::pair(b.scalar_computing.value, b.all.value);
    });
    return rows;
  }

  static const Measured* FindIn(const std::map<RowLabels, Measured>& rows,
                                const RowLabels& labels) {
    const auto found = rows.find(labels);
    return found == rows.end() ? nullptr : &found->second;
  }

  bool is_table() const { return request_.format == Format::kTable; }

  // Names of functions are long, so they come last.
  static bool IsLong(const std::string& key) { return KindOfKey(key) == Column::kFunction; }

  void AddKeyColumns(bool are_long, std::vector<Column>* columns) const {
    for (const std::string& key : request_.keys) {
      if (IsLong(key) == are_long) columns->push_back({JsonKey(key), key, KindOfKey(key)});
    }
  }

  std::vector<Column> Columns() const {
    std::vector<Column> columns;
    AddKeyColumns(false, &columns);
    columns.push_back({"share", "share", Column::kShare});
    columns.push_back({"scalar_floating_point_share", "scalar FP", Column::kShare});
    columns.push_back({"scalar_floating_point_share_error", "std. error", Column::kError});
    columns.push_back({"packed_of_floating_point", "packed of FP", Column::kShare});
    columns.push_back({"packed_of_floating_point_error", "std. error", Column::kError});
    columns.push_back({"packed_share", "packed", Column::kShare});
    columns.push_back({"packed_share_error", "std. error", Column::kError});
    for (const std::string_view width : kWidths) {
      if (is_table() && width == kNarrowest) continue;
      columns.push_back(
          {"packed_" + std::string(width) + "_share", std::string(width) + "-bit", Column::kShare});
    }
    if (!is_table()) {
      columns.push_back({"masked_share", ""});
      columns.push_back({"instructions", ""});
      columns.push_back({"standard_error", ""});
      columns.push_back({"scalar_floating_point", ""});
      columns.push_back({"scalar_floating_point_error", ""});
    }
    AddKeyColumns(true, &columns);
    return columns;
  }

  void AddLabels(const Row& row, bool are_long, std::vector<Cell>* cells) const {
    for (size_t key = 0; key < request_.keys.size(); ++key) {
      const std::string& name = request_.keys[key];
      if (IsLong(name) != are_long) continue;
      cells->push_back(LabelCell(name, all_.label(HBBP_PIVOT_ROWS, row.line, key)));
    }
  }

  void AddShare(const Measured* share, std::vector<Cell>* cells) const {
    if (share == nullptr) {
      cells->insert(cells->end(), {Cell(), Cell()});
    } else {
      cells->insert(cells->end(),
                    {share->value, ShareErrorCell(share->standard_error, request_.format)});
    }
  }

  static Cell FindPart(const Row& row, const std::map<RowLabels, Measured>& parts) {
    const Measured* const part = FindIn(parts, row.labels);
    if (row.all.value == 0) return Cell();
    return part != nullptr ? part->value / row.all.value : 0.0;
  }

  std::vector<Cell> MakeCells(const Row& row) const {
    std::vector<Cell> cells;
    AddLabels(row, false, &cells);
    const hbbp_pivot_cell& scalar = row.scalar_computing;
    cells.insert(cells.end(), {row.all.share, scalar.share,
                               ShareErrorCell(scalar.share_error, request_.format)});
    AddShare(FindIn(packed_of_computing_, row.labels), &cells);
    AddShare(FindIn(packed_, row.labels), &cells);
    for (size_t i = 0; i < of_widths_.size(); ++i) {
      if (is_table() && kWidths[i] == kNarrowest) continue;
      cells.push_back(FindPart(row, of_widths_[i]));
    }
    if (!is_table()) {
      cells.push_back(FindPart(row, masked_));
      cells.insert(cells.end(),
                   {row.all.value, row.all.standard_error, scalar.value, scalar.standard_error});
    }
    AddLabels(row, true, &cells);
    return cells;
  }

  const Request& request_;
  const hbbp::pivot all_;
  const std::map<RowLabels, Measured> packed_;  // of the instructions of the row
  const std::map<RowLabels, Measured> masked_;
  const std::map<RowLabels, hbbp_pivot_cell> scalar_computing_;
  const std::map<RowLabels, Measured> packed_of_computing_;
  std::vector<std::map<RowLabels, Measured>> of_widths_;
};

}  // namespace

int RunSimd(int argc, char** argv) {
  std::vector<std::string> files, by;
  PrintOptions printing;
  Request request;
  Options options(kName, "Show what of a program is vector code");
  options.Profiles(&files, "profiles; several are added up");
  options.Values("--by", &by, "KEY,...",
                 "a row for each, as in hbbp mix: function, loop, ... (a summary of all)");
  options.Value("--where", &request.where, "CONDITION", "only what matches, as in hbbp mix");
  options.Count("--top", &request.top, "only the first N; a table has 20 by default");
  printing.AddTo(&options);
  DebugInfoOptions debug_info(kName);
  debug_info.AddTo(&options);
  ProfileOptions profiles;
  profiles.AddTo(&options);
  options.Footer(
      "packed: works on all elements of a vector, which is 64 to 512 bits wide; scalar: on one.\n"
      "FP: instructions that compute on floating point; moves and conversions do not.\n"
      "scalar FP: what is scalar and here, of all FP of the program; rows with most come first.\n"
      "std. error: one sigma of what is before it.");
  if (const std::optional<int> status = options.Parse(argc, argv)) return *status;

  StatusOr<std::vector<std::string>> keys = SplitLists("--by", by);
  if (!keys.ok()) return Fail(kName, keys.status().message());
  request.keys = *std::move(keys);
  AddModuleOfAddresses(&request.keys);
  request.format = printing.format();
  if (request.keys.empty() && request.top != 0) return Fail(kName, "--top is for --by");
  if (request.top == 0 && printing.is_table()) request.top = kTableRows;
  const StatusOr<hbbp::analysis> analysis = profiles.Analyse(files, &debug_info);
  if (!analysis.ok()) return Fail(kName, analysis.status().message());
  if (!request.where.empty()) {
    request.where = ReadableCondition(*analysis, request.where, nullptr);
  }
  const bool is_summary = request.keys.empty();
  Table table = is_summary ? MakeSummary(*analysis, request) : Listing(*analysis, request).Make();
  AddCaveats(Sources(*analysis), &table);
  AddCodeProblems(*analysis, &table);
  if (NeedsLines(request.Pivot(request.keys, ""))) {
    for (const std::string& problem : DebugInfoOptions::Problems(*analysis)) table.AddNote(problem);
  }
  debug_info.EndProgress();
  return printing.Print(kName, table);
}

}  // namespace hbbp::tools
