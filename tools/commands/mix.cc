// hbbp mix: sums executed instructions over any keys. RunMix reads the options into a Request,
// makes a pivot of the analysed profiles, and prints its cells as a table: one row per label, or
// per label and column.
#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/nearest_name.h"
#include "command.h"
#include "debug_info_options.h"
#include "format.h"
#include "options.h"
#include "pivot_view.h"
#include "print_options.h"
#include "process_view.h"
#include "profile_options.h"
#include "profile_view.h"
#include "table.h"

namespace hbbp::tools {
namespace {

constexpr std::string_view kReport = "report";
constexpr uint64_t kTableRows = 20;
constexpr char kInstructions[] = "instructions";

// A number that is shown for a cell: a value of the pivot, or its "error" or "share", which belong
// to the first value.
struct Shown {
  enum Part { kValue, kError, kShare };
  std::string key;    // key in JSON
  std::string title;  // title in a table
  Part part = kValue;
  size_t value = 0;  // index among the values of the pivot

  Column::Kind kind() const {
    if (part == kError) return Column::kError;
    return part == kShare ? Column::kShare : Column::kCount;
  }
  double Of(const hbbp_pivot_cell& cell) const {
    if (part == kError) return cell.standard_error;
    return part == kShare ? cell.share : cell.value;
  }
};

struct Request {
  std::vector<std::string> default_keys = {"mnemonic"};
  PivotRequest pivot;
  std::vector<Shown> shown;
  size_t instructions = 0;  // index of the instructions among the values of the pivot
  bool totals = false;
  Format format = Format::kTable;
  NameStyle names = NameStyle::kShort;
};

size_t IndexInto(const std::string& value, std::vector<std::string>* values) {
  const auto found = std::find(values->begin(), values->end(), value);
  const auto index = static_cast<size_t>(found - values->begin());
  if (found == values->end()) values->push_back(value);
  return index;
}

// `more` has what the option accepts besides the values of pivots.
Status CheckIsValue(const char* option, const std::string& name,
                    std::vector<std::string_view> more) {
  const std::vector<std::string> values = hbbp::pivot::value_names();
  std::vector<std::string_view> known(values.begin(), values.end());
  known.insert(known.end(), more.begin(), more.end());
  if (std::find(known.begin(), known.end(), name) != known.end()) return OkStatus();
  return MakeStatus(StatusCode::kInvalidArgument, "%s: no value is called '%s'%s", option,
                    name.c_str(), DidYouMeanOneOf(name, known).c_str());
}

// Applies --values. Sums that are needed for sorting or for the total only are not shown.
void SetValues(const std::vector<std::string>& names, Request* request) {
  std::vector<std::string>& values = request->pivot.values;
  for (const std::string& name : names) {
    if (name != "error" && name != "share") IndexInto(name, &values);
  }
  request->instructions = IndexInto(kInstructions, &values);
  for (const std::string& name : names) {
    if (name == "error") {
      request->shown.push_back({"standard_error", "std. error", Shown::kError, 0});
    } else if (name == "share") {
      request->shown.push_back({"share", "share", Shown::kShare, 0});
    } else {
      request->shown.push_back({JsonKey(name), name, Shown::kValue, IndexInto(name, &values)});
    }
  }
  std::string& sort = request->pivot.sort;
  if (sort == "share") sort = values.front();
  const std::vector<std::string> known = hbbp::pivot::value_names();
  if (std::find(known.begin(), known.end(), sort) != known.end()) IndexInto(sort, &values);
}

Status SetKeysAndValues(const std::vector<std::string>& by, const std::vector<std::string>& columns,
                        const std::vector<std::string>& values, Request* request) {
  HBBP_ASSIGN_OR_RETURN(request->pivot.rows, SplitLists("--by", by));
  if (by.empty()) request->pivot.rows = request->default_keys;
  AddModuleOfAddresses(&request->pivot.rows);
  HBBP_ASSIGN_OR_RETURN(request->pivot.columns, SplitLists("--columns", columns));
  HBBP_ASSIGN_OR_RETURN(std::vector<std::string> names, SplitLists("--values", values));
  if (values.empty()) names = {kInstructions, "error", "share"};
  for (const std::string& name : names) {
    HBBP_RETURN_IF_ERROR(CheckIsValue("--values", name, {"share", "error"}));
  }
  const std::string& sort = request->pivot.sort;
  if (!sort.empty()) {
    HBBP_RETURN_IF_ERROR(CheckIsValue("--sort", sort, {"share", "error", "key"}));
  }
  SetValues(names, request);
  return OkStatus();
}

// Names of functions are long, so they come last.
bool IsLong(const std::string& key) { return KindOfKey(key) == Column::kFunction; }

// EventColumn has what was sampled of another event in each row, by the labels of the row.
class EventColumn {
 public:
  EventColumn(const OtherEvent& event, const PivotRequest& request) : name_(event.name) {
    PivotRequest query = request;
    query.values = {kInstructions};
    query.sort.clear();
    query.top = 0;
    const hbbp::pivot pivot = MakePivot(event.analysis, query);
    for (size_t row = 0; row < pivot.rows(); ++row) {
      events_[FindLabels(pivot, row)] = event.Events(pivot.cell(row).value);
    }
    all_ = event.Events(pivot.cell(HBBP_PIVOT_ALL).value);
  }

  const std::string& name() const { return name_; }
  double In(const hbbp::pivot& pivot, size_t row) const {
    if (row == HBBP_PIVOT_ALL) return all_;
    const auto found = events_.find(FindLabels(pivot, row));
    return found == events_.end() ? 0 : found->second;
  }

 private:
  static std::vector<std::string> FindLabels(const hbbp::pivot& pivot, size_t row) {
    std::vector<std::string> labels;
    for (size_t key = 0; key < pivot.keys(HBBP_PIVOT_ROWS); ++key) {
      const hbbp_pivot_label label = pivot.label(HBBP_PIVOT_ROWS, row, key);
      labels.push_back(label.kind == HBBP_LABEL_TEXT ? label.text : std::to_string(label.number));
    }
    return labels;
  }

  std::string name_;
  std::map<std::vector<std::string>, double> events_;
  double all_ = 0;
};

class Listing {
 public:
  Listing(const hbbp::pivot& pivot, const Request& request, std::vector<EventColumn> others,
          std::vector<hbbp_thread> threads)
      : pivot_(pivot),
        request_(request),
        others_(std::move(others)),
        threads_(std::move(threads)),
        processes_(ProcessesOf(threads_)),
        short_titles_(ShortTitles()),
        table_(Columns()) {}

  // Calls `print` now and then, so that rows of a wide pivot do not all have to be in memory; those
  // of a long table are made twice, since its columns are as wide as the widest of all rows.
  // Returns nothing if that failed.
  template <typename Print>
  std::optional<Table> Make(const hbbp::analysis& analysis, Print&& print) {
    const size_t rows = pivot_.rows();
    for (const Shown& shown : request_.shown) {
      if (shown.part != Shown::kValue || shown.value == request_.instructions) continue;
      table_.AddField("total_" + shown.key,
                      pivot_.cell(HBBP_PIVOT_ALL, HBBP_PIVOT_ALL, shown.value).value);
    }
    const double total = pivot_.cell(HBBP_PIVOT_ALL, HBBP_PIVOT_ALL, request_.instructions).value;
    table_.AddField("total_instructions", total);
    AddCaveats(Sources(analysis), &table_);
    table_.AddSummary(FormatCount(uint64_t{rows}) + " of " +
                      FormatCount(uint64_t{pivot_.rows_in_all()}) + " rows; " + FormatCount(total) +
                      " instructions in all");
    if (request_.format == Format::kTable && rows > RowsInMemory()) {
      (void)AddAllRows([](Table* table) {
        table->MeasureRows();
        return true;
      });
      table_.EndMeasuring(request_.names);
    }
    if (!AddAllRows(print)) return std::nullopt;
    return std::move(table_);
  }

 private:
  // Returns how many rows of the pivot are kept at a time.
  size_t RowsInMemory() const {
    constexpr size_t kMaxCells = 1 << 16;
    constexpr size_t kMaxRows = 1024;
    const size_t cells = 1 + column_count() * request_.shown.size();
    return std::clamp<size_t>(kMaxCells / cells, 1, kMaxRows);
  }

  // Calls `take` each time that there are so many rows, and returns false if that does.
  template <typename Take>
  bool AddAllRows(Take&& take) {
    const size_t in_memory = RowsInMemory();
    for (size_t row = 0; row < pivot_.rows(); ++row) {
      AddRows(row);
      if (row % in_memory == in_memory - 1 && !take(&table_)) return false;
    }
    if (request_.totals) AddRows(HBBP_PIVOT_ALL);
    return true;
  }

  const std::vector<std::string>& rows() const { return request_.pivot.rows; }
  const std::vector<std::string>& columns() const { return request_.pivot.columns; }
  size_t column_count() const { return pivot_.columns(); }
  // In JSON each cell is a row: titles of columns are data there, not keys.
  bool is_long_form() const { return request_.format == Format::kJson && !columns().empty(); }

  // Their labels are numbers.
  static bool HasName(const std::string& key) { return key == "thread" || key == "process"; }

  Cell NameCell(const std::string& key, const hbbp_pivot_label& label) const {
    if (key == "thread") {
      return label.index < threads_.size() ? Cell(threads_[label.index].name) : Cell();
    }
    const auto process =
        std::find_if(processes_.begin(), processes_.end(),
                     [&](const ProcessView& each) { return each.pid == label.number; });
    return process != processes_.end() ? Cell(process->name) : Cell();
  }

  static void AddKeyColumns(const std::string& key, std::vector<Column>* columns) {
    columns->push_back({JsonKey(key), key, KindOfKey(key)});
    if (HasName(key)) columns->push_back({key + "_name", key + " name"});
  }

  // Returns the label in full.
  std::string TitlePart(size_t column, size_t key) const {
    const hbbp_pivot_label label = pivot_.label(HBBP_PIVOT_COLUMNS, column, key);
    const bool is_path = KindOfKey(columns()[key]) == Column::kPath;
    return is_path ? label.text : LabelText(columns()[key], label);
  }

  // Shortens paths and functions in each key of columns.
  std::vector<ShortTexts> ShortTitles() const {
    std::vector<ShortTexts> titles;
    for (size_t key = 0; key < columns().size(); ++key) {
      std::vector<std::string> parts;
      for (size_t column = 0; column < column_count(); ++column) {
        parts.push_back(TitlePart(column, key));
      }
      titles.emplace_back(KindOfKey(columns()[key]), request_.names, std::move(parts));
    }
    return titles;
  }

  // Labels are in full like in rows, except in tables.
  std::string TitleOf(size_t column) const {
    std::string title;
    for (size_t key = 0; key < columns().size(); ++key) {
      if (key != 0) title += '/';
      const std::string part = TitlePart(column, key);
      title += request_.format == Format::kTable ? short_titles_[key].Of(part) : part;
    }
    return title;
  }

  void AddValueColumns(const std::string& prefix, std::vector<Column>* columns) const {
    for (const Shown& shown : request_.shown) {
      if (prefix.empty()) {
        columns->push_back({shown.key, shown.title, shown.kind()});
      } else if (request_.shown.size() == 1) {
        columns->push_back({prefix, prefix, shown.kind()});
      } else {
        columns->push_back({prefix + ' ' + shown.key, prefix + ' ' + shown.title, shown.kind()});
      }
    }
  }

  std::vector<Column> Columns() const {
    std::vector<Column> all;
    for (const std::string& key : rows()) {
      if (!IsLong(key)) AddKeyColumns(key, &all);
    }
    if (is_long_form()) {
      for (const std::string& key : columns()) AddKeyColumns(key, &all);
    }
    if (columns().empty() || is_long_form()) {
      AddValueColumns("", &all);
    } else {
      for (size_t i = 0; i < column_count(); ++i) AddValueColumns(TitleOf(i), &all);
      if (request_.totals) AddValueColumns("total", &all);
    }
    for (const EventColumn& other : others_) AddEventColumn(other.name(), &all);
    for (const std::string& key : rows()) {
      if (IsLong(key)) AddKeyColumns(key, &all);
    }
    return all;
  }

  void AddLabel(hbbp_pivot_axis axis, size_t line, size_t key, const std::string& name,
                std::vector<Cell>* cells) const {
    if (line == HBBP_PIVOT_ALL) {
      // JSON has null instead.
      const bool is_word = key == 0 && axis == HBBP_PIVOT_ROWS && request_.format != Format::kJson;
      cells->push_back(is_word ? Cell("total") : Cell());
      if (HasName(name)) cells->emplace_back();
      return;
    }
    const hbbp_pivot_label label = pivot_.label(axis, line, key);
    cells->push_back(LabelCell(name, label));
    if (HasName(name)) cells->push_back(NameCell(name, label));
  }

  void AddLabels(size_t row, bool are_long, std::vector<Cell>* cells) const {
    for (size_t key = 0; key < rows().size(); ++key) {
      if (IsLong(rows()[key]) != are_long) continue;
      AddLabel(HBBP_PIVOT_ROWS, row, key, rows()[key], cells);
    }
  }

  void AddValues(size_t row, size_t column, std::vector<Cell>* cells) const {
    for (const Shown& shown : request_.shown) {
      cells->emplace_back(shown.Of(pivot_.cell(row, column, shown.value)));
    }
  }

  bool IsEmpty(size_t row, size_t column) const {
    for (size_t value = 0; value < pivot_.values(); ++value) {
      const hbbp_pivot_cell cell = pivot_.cell(row, column, value);
      if (cell.value != 0 || cell.standard_error != 0) return false;
    }
    return true;
  }

  void AddRows(size_t row) {
    if (is_long_form()) {
      for (size_t column = 0; column < column_count(); ++column) AddCellRow(row, column);
      if (request_.totals) AddCellRow(row, HBBP_PIVOT_ALL);
      return;
    }
    std::vector<Cell> cells;
    AddLabels(row, false, &cells);
    if (columns().empty()) {
      AddValues(row, HBBP_PIVOT_ALL, &cells);
    } else {
      for (size_t column = 0; column < column_count(); ++column) AddValues(row, column, &cells);
      if (request_.totals) AddValues(row, HBBP_PIVOT_ALL, &cells);
    }
    for (const EventColumn& other : others_) cells.emplace_back(other.In(pivot_, row));
    AddLabels(row, true, &cells);
    table_.AddRow(std::move(cells));
  }

  void AddCellRow(size_t row, size_t column) {
    if (IsEmpty(row, column)) return;
    std::vector<Cell> cells;
    AddLabels(row, false, &cells);
    for (size_t key = 0; key < columns().size(); ++key) {
      AddLabel(HBBP_PIVOT_COLUMNS, column, key, columns()[key], &cells);
    }
    AddValues(row, column, &cells);
    AddLabels(row, true, &cells);
    table_.AddRow(std::move(cells));
  }

  const hbbp::pivot& pivot_;
  const Request& request_;
  const std::vector<EventColumn> others_;
  const std::vector<hbbp_thread> threads_;
  const std::vector<ProcessView> processes_;
  const std::vector<ShortTexts> short_titles_;  // by key of columns
  Table table_;
};

template <typename Print>
std::optional<Table> MakeListing(const hbbp::analysis& analysis,
                                 const std::vector<OtherEvent>& others, const Request& request,
                                 Print&& print) {
  const hbbp::pivot pivot = MakePivot(analysis, request.pivot);
  std::vector<EventColumn> columns;
  for (const OtherEvent& other : others) columns.emplace_back(other, request.pivot);
  Listing listing(pivot, request, std::move(columns), analysis.get_profile().threads());
  std::optional<Table> table = listing.Make(analysis, std::forward<Print>(print));
  if (!table) return table;
  AddCodeProblems(analysis, &*table);
  const bool is_empty = pivot.rows_in_all() == 0;
  if (is_empty && !request.pivot.where.empty()) table->AddNote(kNothingMatches);
  return table;
}

std::string ShownRatio(double number, std::string_view unit) {
  if (unit == "share") return FormatShare(number);
  constexpr double kMany = 1000;
  return number < kMany ? FormatFactor(number) : FormatCount(number);
}

Cell RatioCell(const hbbp_ratio& ratio, Format format) {
  if (ratio.is_known == 0) return Cell();
  if (format != Format::kTable) return ratio.value;
  return ShownRatio(ratio.value, ratio.unit);
}

Cell RatioErrorCell(const hbbp_ratio& ratio, Format format) {
  if (ratio.is_known == 0) return Cell();
  if (format != Format::kTable) return ratio.standard_error;
  return "± " + ShownRatio(ratio.standard_error, ratio.unit);
}

// Ratios describe only code that could be read.
void AddMissingCodeNote(const hbbp::analysis& analysis, const Request& request, Table* table) {
  PivotRequest by_mnemonic = request.pivot;
  by_mnemonic.rows = {"mnemonic"};
  by_mnemonic.values = {kInstructions};
  const hbbp::pivot pivot = MakePivot(analysis, by_mnemonic);
  const double total = pivot.cell(HBBP_PIVOT_ALL).value;
  for (size_t row = 0; row < pivot.rows(); ++row) {
    if (pivot.label(HBBP_PIVOT_ROWS, row).text != std::string_view(kNoCode)) continue;
    const hbbp_pivot_cell cell = pivot.cell(row);
    table->AddNote(FormatCount(cell.value) + " of " + FormatCount(total) + " instructions, " +
                   FormatShare(cell.share) +
                   ", are in code that is missing: the ratios are of the others");
  }
}

Table MakeSummary(const hbbp::analysis& analysis, const Request& request) {
  const hbbp::ratios ratios = MakeRatios(analysis, request.pivot.where, request.pivot.taxonomy);
  Table table({{"group", "group"},
               {"name", "ratio"},
               {"value", "value"},
               {"standard_error", "std. error"},
               {"unit", "unit"}});
  for (const hbbp_ratio& ratio : ratios.list()) {
    table.AddRow({ratio.group, ratio.name, RatioCell(ratio, request.format),
                  RatioErrorCell(ratio, request.format), ratio.unit});
  }
  AddMissingCodeNote(analysis, request, &table);
  AddCaveats(Sources(analysis), &table);
  AddCodeProblems(analysis, &table);
  return table;
}

}  // namespace

int RunMix(int argc, char** argv) {
  std::vector<std::string> files, by, columns, values;
  std::string groups;
  PrintOptions printing;
  bool summary = false;
  Request request;
  const char* const name = argv[0];
  const bool is_report = name == kReport;
  if (is_report) request.default_keys = {"module", "function"};
  Options options(name, "Sum executed instructions, and what follows from them, by any keys");
  options.Profiles(&files, "profiles; several are added up");
  options.Values(
      "--by", &by, "KEY,...",
      std::string("what a row stands for (") + (is_report ? "module,function)" : "mnemonic)"));
  options.Values("--columns", &columns, "KEY,...", "what a column stands for (none)");
  options.Values("--values", &values, "VALUE,...",
                 "what to show: instructions, executions, bytes, read-bytes, written-bytes, flops, "
                 "and of the first of these share and error (instructions,error,share)");
  options.Value("--where", &request.pivot.where, "CONDITION",
                "only what matches, for example 'module = libc.so.6 and vector-bits >= 256'");
  options.Value("--groups", &groups, "FILE", "groups of instructions, each a key by its name");
  options.Value("--sort", &request.pivot.sort, "VALUE",
                "rows by a value, error or key (the first value)");
  options.Count("--top", &request.pivot.top, "only the first N; a table has 20 by default");
  options.Flag("--totals", &request.totals, "a row, and a column, of all");
  options.Flag("--summary", &summary, "ratios of the whole mix instead of rows");
  ProfileOptions profiles;
  profiles.AddOthersTo(&options);
  printing.AddTo(&options);
  DebugInfoOptions debug_info(name);
  debug_info.AddTo(&options);
  profiles.AddTo(&options);
  std::string keys = "Keys:";
  const char* separator = " ";
  for (const std::string& key : hbbp::pivot::key_names()) {
    keys += std::exchange(separator, ", ") + key;
  }
  options.Footer(keys + ", and the names of groups: groups, traffic, width, flow, precision.");
  if (const std::optional<int> status = options.Parse(argc, argv)) return *status;

  request.format = printing.format();
  request.names = printing.names();
  if (summary) {
    const PivotRequest& pivot = request.pivot;
    const std::pair<bool, const char*> given[] = {
        {!by.empty(), "--by"},           {!columns.empty(), "--columns"},
        {!values.empty(), "--values"},   {!pivot.sort.empty(), "--sort"},
        {pivot.top != 0, "--top"},       {request.totals, "--totals"},
        {profiles.HasOthers(), "--also"}};
    for (const auto& [is_given, option] : given) {
      if (is_given) return Fail(name, std::string(option) + " is not for --summary");
    }
  }
  if (profiles.HasOthers() && !columns.empty()) {
    return Fail(name, "--also is a column itself, and not for --columns");
  }
  const Status understood = SetKeysAndValues(by, columns, values, &request);
  if (!understood.ok()) return Fail(name, understood.message());
  if (request.pivot.top == 0 && request.format == Format::kTable) request.pivot.top = kTableRows;
  const std::optional<hbbp::taxonomy> taxonomy = LoadGroups(groups);
  if (taxonomy) request.pivot.taxonomy = &*taxonomy;
  const StatusOr<hbbp::analysis> analysis = profiles.Analyse(files, &debug_info);
  if (!analysis.ok()) return Fail(name, analysis.status().message());
  const auto print_rows = [&](Table* rows) {
    debug_info.EndProgress();
    return rows->PrintRows(name, request.format) == kExitSuccess;
  };
  std::optional<Table> table =
      summary ? MakeSummary(*analysis, request)
              : MakeListing(*analysis, profiles.AnalyseOthers(*analysis, &debug_info), request,
                            print_rows);
  if (!table) return kExitFailure;
  if (NeedsLines(request.pivot)) {
    for (const std::string& problem : DebugInfoOptions::Problems(*analysis)) {
      table->AddNote(problem);
    }
  }
  debug_info.EndProgress();
  return printing.Print(name, *table);
}

}  // namespace hbbp::tools
