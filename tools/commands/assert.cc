// hbbp assert: checks what a profile must satisfy, for tests. RunAssert parses all assertions,
// evaluates them on the analysed profile, and prints a line for each.
#include <cmath>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "command.h"
#include "debug_info_options.h"
#include "format.h"
#include "gate/assertion.h"
#include "gate/checks.h"
#include "gate/decision.h"
#include "options.h"
#include "pivot_view.h"
#include "print_options.h"
#include "profile_options.h"
#include "profile_view.h"
#include "table.h"

namespace hbbp::tools {
namespace {

constexpr char kName[] = "assert";

// Reads one assertion a line, without empty lines and those that begin with #.
Status AddLines(const std::string& path, std::vector<std::string>* texts) {
  std::ifstream file(path);
  std::string line;
  while (std::getline(file, line)) {
    const size_t first = line.find_first_not_of(" \t\r");
    if (first != std::string::npos && line[first] != '#') texts->push_back(line);
  }
  if (file.eof()) return OkStatus();
  return ErrnoStatus(errno, path);
}

// For people, numbers have the digits that the error allows.
std::string FormatNumber(double number, const Check& check) {
  const double error = check.measured.standard_error;
  if (!std::isfinite(number)) return "-";
  if (check.kind == Check::kCount) return FormatMeasured(number, error).value;
  return check.kind == Check::kShare ? FormatShare(number) : FormatFactor(number);
}

std::string FormatError(const Check& check) {
  const auto [value, error] = check.measured;
  if (check.kind == Check::kCount) return FormatMeasured(value, error).error;
  return FormatNumber(error, check);
}

std::vector<Column> Columns(bool is_table) {
  if (is_table) {
    return {{"outcome", "outcome"},
            {"value", "measured", Column::kCount},
            {"standard_error", "std. error", Column::kError},
            {"interval", "95 % interval", Column::kCount},
            {"assertion", "assertion"}};
  }
  return {{"outcome", ""},
          {"value", "", Column::kFactor},
          {"standard_error", "", Column::kFactorError},
          {"low", "", Column::kFactor},
          {"high", "", Column::kFactor},
          {"comparison", ""},
          {"limit", "", Column::kFactor},
          {"assertion", ""}};
}

std::vector<Cell> MakeCells(const Check& check, bool is_table) {
  const char* const outcome = OutcomeName(check.outcome);
  const Interval& interval = check.interval;
  const std::string& text = check.assertion.text;
  if (is_table) {
    return {outcome, FormatNumber(check.measured.value, check), "± " + FormatError(check),
            FormatNumber(interval.low, check) + " to " + FormatNumber(interval.high, check), text};
  }
  return {outcome,
          check.measured.value,
          check.measured.standard_error,
          interval.low,
          interval.high,
          check.assertion.comparison_text,
          check.assertion.limit,
          text};
}

bool NeedsLinesFor(const std::vector<Check>& checks) {
  for (const Check& check : checks) {
    PivotRequest request;
    for (const TextPart& condition :
         {check.assertion.condition, check.assertion.of.value_or(TextPart())}) {
      request.where = condition.text;
      if (NeedsLines(request)) return true;
    }
  }
  return false;
}

Table MakeListing(const hbbp::analysis& analysis, const std::vector<Check>& checks, Outcome outcome,
                  bool is_table) {
  Table table(Columns(is_table));
  uint64_t counts[3] = {};
  for (const Check& check : checks) {
    table.AddRow(MakeCells(check, is_table));
    ++counts[static_cast<size_t>(check.outcome)];
    for (const std::string& note : check.notes) table.AddNote(note);
  }
  table.AddField("outcome", OutcomeName(outcome));
  std::string summary;
  for (const Outcome each : {Outcome::kHolds, Outcome::kFails, Outcome::kUndecided}) {
    const uint64_t count = counts[static_cast<size_t>(each)];
    table.AddField(OutcomeName(each), count);
    summary += (summary.empty() ? "" : ", ") + FormatCount(count) + ' ' + OutcomeName(each);
  }
  table.AddSummary(FormatCount(uint64_t{checks.size()}) + " checked: " + summary);
  AddCaveats(Sources(analysis), &table);
  AddCodeProblems(analysis, &table);
  if (NeedsLinesFor(checks)) {
    for (const std::string& problem : DebugInfoOptions::Problems(analysis)) table.AddNote(problem);
  }
  return table;
}

StatusOr<std::vector<Check>> Evaluate(const hbbp::analysis& analysis,
                                      const hbbp::taxonomy* taxonomy,
                                      const std::vector<Assertion>& assertions) {
  const Checks checks(analysis, taxonomy);
  std::vector<Check> evaluated;
  for (const Assertion& assertion : assertions) {
    HBBP_ASSIGN_OR_RETURN(Check check, checks.Evaluate(assertion));
    evaluated.push_back(std::move(check));
  }
  return evaluated;
}

}  // namespace

int RunAssert(int argc, char** argv) {
  std::vector<std::string> words;
  std::string groups, list;
  bool is_strict = false;
  PrintOptions printing;
  Options options(kName, "Check what a profile must satisfy, for tests");
  options.Positionals("FILE ASSERTION", &words, 1, Options::kAny,
                      "a profile, and assertions such as 'share(vector-bits >= 256) >= 20%'");
  options.Value("--from", &list, "FILE", "assertions, one a line; # begins a comment");
  options.Flag("--strict", &is_strict, "status 3 if something is undecided and nothing fails");
  options.Value("--groups", &groups, "FILE", "groups of instructions, each a key by its name");
  printing.AddTo(&options);
  DebugInfoOptions debug_info(kName);
  debug_info.AddTo(&options);
  ProfileOptions profiles;
  profiles.AddTo(&options);
  options.Footer(
      "An assertion is NAME(CONDITION) < LIMIT, or with <=, > or >=. NAME is share, entries (of\n"
      "functions), a value of hbbp mix (instructions, executions, flops, read-bytes, ...) or a "
      "ratio\n"
      "of hbbp mix --summary; CONDITION is one of --where of hbbp mix; share(A) of (B) is the "
      "share\n"
      "of A in B. LIMIT may be 0.2, 20%, 250k, 1.5M or 2G.\n"
      "It is undecided if the 95 % interval of what was measured contains the limit.\n\n"
      "Exit status: 0 if nothing fails, 1 if something does, with --strict 3 if something is\n"
      "undecided and nothing fails, or 2 with one line on stderr that says what went wrong.");
  if (const std::optional<int> status = options.Parse(argc, argv)) return *status;

  std::vector<std::string> texts(words.begin() + 1, words.end());
  if (!list.empty()) {
    const Status read = AddLines(list, &texts);
    if (!read.ok()) return Fail(kName, "--from " + read.message());
  }
  if (texts.empty()) return Fail(kName, "there are no assertions; see hbbp assert --help");
  std::vector<Assertion> assertions;
  for (const std::string& text : texts) {
    StatusOr<Assertion> assertion = ParseAssertion(text);
    if (!assertion.ok()) return Fail(kName, assertion.status().message());
    assertions.push_back(*std::move(assertion));
  }
  const std::optional<hbbp::taxonomy> taxonomy = LoadGroups(groups);
  const StatusOr<hbbp::analysis> analysis = profiles.Analyse({words.front()}, &debug_info);
  if (!analysis.ok()) return Fail(kName, analysis.status().message());
  const StatusOr<std::vector<Check>> checks =
      Evaluate(*analysis, taxonomy ? &*taxonomy : nullptr, assertions);
  debug_info.EndProgress();
  if (!checks.ok()) return Fail(kName, checks.status().message());
  std::vector<Outcome> outcomes;
  for (const Check& check : *checks) outcomes.push_back(check.outcome);
  const Outcome outcome = Worst(outcomes);
  const int printed =
      printing.Print(kName, MakeListing(*analysis, *checks, outcome, printing.is_table()));
  return printed != kExitSuccess ? printed : ExitStatus(outcome, is_strict);
}

}  // namespace hbbp::tools
