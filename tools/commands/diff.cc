// hbbp diff: compares two mixes, before and after, and sorts rows by what changed most. RunDiff
// reads the options, makes a pivot of each of the two profiles, adds the rows of both to a MixDiff,
// and prints that as a table. With --fail-above, Gate decides of each row whether it changed by
// more than the limit.
#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/quantity.h"
#include "command.h"
#include "commands/mix_diff.h"
#include "debug_info_options.h"
#include "format.h"
#include "gate/decision.h"
#include "measured.h"
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
  std::optional<double> limit;  // of changes
};

// Changes are part of all that was counted: the difference of two shares, or of two numbers by all
// of them before.
class Gate {
 public:
  Gate(const Request& request, const Measured& total_before)
      : is_absolute_(request.is_absolute), limit_(*request.limit), total_before_(total_before) {}

  Measured ChangeOf(const MixDiffRow& row) const {
    if (!is_absolute_) return {row.Change(), row.ChangeError()};
    return ChangeOfWhole(row.before, row.after, total_before_);
  }
  // Returns kHolds if the change is within the limit.
  Outcome Decide(const Measured& change) const {
    return tools::Decide(MagnitudeInterval(change), Comparison::kLessOrEqual, limit_);
  }
  Outcome Decide(const MixDiffRow& row) const { return Decide(ChangeOf(row)); }

 private:
  const bool is_absolute_;
  const double limit_;
  const Measured total_before_;
};

const char* GateName(Outcome outcome) {
  if (outcome == Outcome::kHolds) return "within";
  return outcome == Outcome::kFails ? "above" : OutcomeName(outcome);
}

// One of the two profiles, with its pivot.
struct Side {
  std::string file;
  hbbp::pivot pivot;
  std::string unit = {};
  bool is_up_to_factor = false;
  bool is_by_model_of_time = false;
  std::vector<std::string> notes = {};  // what its reader must know
};

Side MakeSide(const std::string& file, const hbbp::analysis& analysis, const Request& request) {
  Side side{file, MakePivot(analysis, request.pivot)};
  const std::vector<SourceView> sources = Sources(analysis);
  side.unit = UnitOf(sources);
  side.is_up_to_factor = IsUpToFactor(sources);
  side.is_by_model_of_time = IsByModelOfTime(sources);
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
Measured AddSide(const Side& side, const Request& request, const std::set<std::string>& ambiguous,
                 void (MixDiff::*add)(std::vector<std::string>, Measured), MixDiff* diff) {
  for (size_t row = 0; row < side.pivot.rows(); ++row) {
    const hbbp_pivot_cell cell = side.pivot.cell(row);
    const Measured measured = request.is_absolute ? Measured{cell.value, cell.standard_error}
                                                  : Measured{cell.share, cell.share_error};
    (diff->*add)(MakeLabels(side, row, request.pivot.rows, ambiguous), measured);
  }
  const hbbp_pivot_cell all = side.pivot.cell(HBBP_PIVOT_ALL);
  return {all.value, all.standard_error};
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
  if (request.limit) columns.push_back({"outcome", "outcome"});
  if (request.limit && request.is_absolute) {
    columns.push_back({"change_of_total", "of total", Column::kShare});
    columns.push_back({"change_of_total_error", "std. error", Column::kError});
  }
  return columns;
}

Cell ShareErrorCell(double error, Format format) {
  if (format != Format::kTable) return error;
  return "± " + FormatShare(error);
}

// `gate` may be null.
std::vector<Cell> MakeCells(const MixDiffRow& row, const Request& request, const Gate* gate) {
  std::vector<Cell> cells(row.labels.begin(), row.labels.end());
  AddMeasured(row.before.value, row.before.standard_error, request, false, &cells);
  AddMeasured(row.after.value, row.after.standard_error, request, false, &cells);
  AddMeasured(row.Change(), row.ChangeError(), request, true, &cells);
  cells.push_back(ZCell(row.Z(), request.format));
  cells.push_back(ProbabilityCell(row.P(), request.format));
  if (gate == nullptr) return cells;
  cells.emplace_back(GateName(gate->Decide(row)));
  if (request.is_absolute) {
    const Measured change = gate->ChangeOf(row);
    cells.emplace_back(change.value);
    cells.push_back(ShareErrorCell(change.standard_error, request.format));
  }
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

// What --fail-above found out.
struct Verdict {
  Outcome outcome = Outcome::kHolds;
  uint64_t above = 0;
  uint64_t undecided = 0;
  std::optional<Measured> total;  // the change of all, of numbers
};

// Puts rows above the limit first, and then those that are undecided.
Verdict Judge(const Gate& gate, const Request& request, const Measured& before,
              const Measured& after, std::vector<MixDiffRow>* rows) {
  std::stable_sort(rows->begin(), rows->end(), [&](const MixDiffRow& a, const MixDiffRow& b) {
    return gate.Decide(a) > gate.Decide(b);
  });
  Verdict verdict;
  std::vector<Outcome> outcomes;
  for (const MixDiffRow& row : *rows) outcomes.push_back(gate.Decide(row));
  verdict.above = static_cast<uint64_t>(std::ranges::count(outcomes, Outcome::kFails));
  verdict.undecided = static_cast<uint64_t>(std::ranges::count(outcomes, Outcome::kUndecided));
  if (request.is_absolute) {
    verdict.total = ChangeOfWhole(before, after, before);
    outcomes.push_back(gate.Decide(*verdict.total));
  }
  verdict.outcome = Worst(outcomes);
  return verdict;
}

void AddVerdict(const Verdict& verdict, const Gate& gate, const Request& request, Table* table) {
  table->AddField("fail_above", *request.limit);
  table->AddField("outcome", GateName(verdict.outcome));
  table->AddField("rows_above", verdict.above);
  table->AddField("rows_undecided", verdict.undecided);
  std::string summary = FormatCount(verdict.above) + " above " + FormatShare(*request.limit) +
                        ", " + FormatCount(verdict.undecided) + " undecided";
  if (verdict.total) {
    const auto [change, error] = *verdict.total;
    const char* const outcome = GateName(gate.Decide(*verdict.total));
    table->AddField("total_change", change);
    table->AddField("total_change_error", error);
    table->AddField("total_outcome", outcome);
    summary += std::string("; total ") + (change > 0 ? "+" : "") + FormatShare(change) + " ± " +
               FormatShare(error) + ", " + outcome;
  }
  table->AddSummary(summary);
}

// Lists the rows and sets the verdict if there is a limit.
Table MakeListing(const Side& before, const Side& after, const Request& request, Verdict* verdict) {
  std::set<std::string> ambiguous = FindAmbiguousNames(before, request.pivot.rows);
  ambiguous.merge(FindAmbiguousNames(after, request.pivot.rows));
  MixDiff diff;
  const Measured total_before = AddSide(before, request, ambiguous, &MixDiff::AddBefore, &diff);
  const Measured total_after = AddSide(after, request, ambiguous, &MixDiff::AddAfter, &diff);
  std::vector<MixDiffRow> rows = diff.Sorted(request.order);
  std::optional<Gate> gate;
  if (request.limit) {
    gate.emplace(request, total_before);
    *verdict = Judge(*gate, request, total_before, total_after, &rows);
  }
  Table table(ColumnsOf(request));
  const size_t shown = request.top == 0 ? rows.size() : std::min<size_t>(request.top, rows.size());
  for (size_t i = 0; i < shown; ++i) {
    table.AddRow(MakeCells(rows[i], request, gate ? &*gate : nullptr));
  }
  const std::string& value = request.pivot.values.front();
  table.AddField("value", value);
  table.AddField("normalised", uint64_t{request.is_absolute ? 0u : 1u});
  table.AddField("total_before", total_before.value);
  table.AddField("total_after", total_after.value);
  table.AddField("unit_before", before.unit);
  table.AddField("unit_after", after.unit);
  table.AddSummary(FormatCount(uint64_t{shown}) + " of " + FormatCount(uint64_t{rows.size()}) +
                   " rows; " + FormatCount(total_before.value) + " " + value + " before, " +
                   FormatCount(total_after.value) + " after" +
                   (request.is_absolute ? "" : "; shares are of each of them"));
  if (gate) AddVerdict(*verdict, *gate, request, &table);
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

// Refuses to decide what these profiles say nothing about.
Status CheckComparable(const Side& before, const Side& after, const Request& request) {
  for (const Side* side : {&before, &after}) {
    const bool is_empty = side->pivot.cell(HBBP_PIVOT_ALL).value == 0;
    if (is_empty && !(request.is_absolute && side == &after)) {
      return MakeStatus(StatusCode::kInvalidArgument, "--fail-above: %s has no %s%s",
                        side->file.c_str(), request.pivot.values.front().c_str(),
                        request.pivot.where.empty() ? "" : " that match --where");
    }
    if (request.is_absolute && side->is_up_to_factor && !side->is_by_model_of_time) {
      return MakeStatus(StatusCode::kInvalidArgument,
                        "--fail-above: counts of %s are up to a factor: leave --absolute out, and "
                        "compare shares",
                        side->file.c_str());
    }
  }
  if (!request.is_absolute || before.unit == after.unit) return OkStatus();
  return MakeStatus(StatusCode::kInvalidArgument,
                    "--fail-above: one profile counts %s and the other one %s: leave --absolute "
                    "out, and compare shares",
                    before.unit.c_str(), after.unit.c_str());
}

}  // namespace

int RunDiff(int argc, char** argv) {
  std::vector<std::string> files, by;
  std::string groups, limit, value = "instructions", sort = "change";
  bool is_strict = false;
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
  options.Value("--fail-above", &limit, "SHARE",
                "status 1 if something changed by more than that of the total, such as 2%");
  options.Flag("--strict", &is_strict,
               "status 3 if errors are too large to decide that, and nothing is above the limit");
  options.Count("--top", &request.top, "only the first N; a table has 20 by default");
  printing.AddTo(&options);
  DebugInfoOptions debug_info(kName);
  debug_info.AddTo(&options);
  ProfileOptions profiles;
  profiles.AddTo(&options);
  options.Footer(
      "--fail-above: a change is above the limit if its whole 95 % interval is. Without "
      "--absolute\n"
      "shares are compared; with it, numbers by the total before, and the totals too.\n\n"
      "Exit status: 0, with --fail-above 1 if something is above the limit, with --strict 3 if\n"
      "something is undecided and nothing above it, or 2 with one line on stderr that says what\n"
      "went wrong.");
  if (const std::optional<int> status = options.Parse(argc, argv)) return *status;

  StatusOr<std::vector<std::string>> rows = SplitLists("--by", by);
  if (!rows.ok()) return Fail(kName, rows.status().message());
  if (value.find(',') != std::string::npos) {
    return Fail(kName, "--value: '" + value + "' is more than the one value that is compared");
  }
  if (limit.empty() && is_strict) return Fail(kName, "--strict is for --fail-above");
  if (!limit.empty()) {
    StatusOr<double> share = ParseShare(limit);
    if (!share.ok()) return Fail(kName, "--fail-above: " + share.status().message());
    request.limit = *share;
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
  if (request.limit) {
    const Status comparable = CheckComparable(before, after, request);
    if (!comparable.ok()) return Fail(kName, comparable.message());
  }
  Verdict verdict;
  const int printed = printing.Print(kName, MakeListing(before, after, request, &verdict));
  return printed != kExitSuccess ? printed : ExitStatus(verdict.outcome, is_strict);
}

}  // namespace hbbp::tools
