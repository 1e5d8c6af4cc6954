// Evaluate finds out by its name what an assertion is of: a share, a value of pivots, the entries
// of functions, or a ratio of `hbbp mix --summary`. The functions for each of these measure it and
// set the 95 % interval, which Decide compares with the limit.
#include "gate/checks.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <utility>

#include "base/nearest_name.h"
#include "pivot_shares.h"
#include "pivot_view.h"
#include "profile_view.h"

namespace hbbp::tools {
namespace {

constexpr std::string_view kShare = "share";
constexpr std::string_view kEntries = "entries";
constexpr char kInstructions[] = "instructions";

std::string Quoted(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + '"';
}

// The library says at which column of the condition it is wrong.
Status InAssertion(const Assertion& assertion, const TextPart& condition, std::string_view what) {
  constexpr std::string_view kBefore = "condition: column ";
  size_t column = 1;
  if (what.starts_with(kBefore)) {
    const char* const end = what.data() + what.size();
    const char* const rest = std::from_chars(what.data() + kBefore.size(), end, column).ptr;
    what = std::string_view(rest, static_cast<size_t>(end - rest));
    what.remove_prefix(std::min(what.find_first_not_of(": "), what.size()));
  }
  return assertion.ErrorAt(condition.offset + column - 1, what);
}

}  // namespace

Checks::Checks(const hbbp::analysis& analysis, const hbbp::taxonomy* taxonomy)
    : analysis_(analysis), taxonomy_(taxonomy), values_(hbbp::pivot::value_names()) {
  const std::vector<SourceView> sources = Sources(analysis);
  is_up_to_factor_ = IsUpToFactor(sources) && !IsByModelOfTime(sources);
  for (const SourceView& source : CountedSources(sources)) observations_ += source.samples;
  all_instructions_ = Sum(kInstructions, "");
}

StatusOr<Check> Checks::Evaluate(const Assertion& assertion) const {
  Check check;
  check.assertion = assertion;
  const std::string& name = assertion.name.text;
  if (assertion.of && name != kShare) {
    return assertion.ErrorAt(assertion.of->offset, "only a share is 'of' something");
  }
  StatusOr<Check> evaluated = name == kShare     ? EvaluateShare(std::move(check))
                              : name == kEntries ? EvaluateEntries(std::move(check))
                              : std::find(values_.begin(), values_.end(), name) != values_.end()
                                  ? EvaluateCount(std::move(check))
                                  : EvaluateRatio(std::move(check));
  if (!evaluated.ok()) return evaluated.status();
  HBBP_RETURN_IF_ERROR(CheckLimit(*evaluated));
  evaluated->outcome = Decide(evaluated->interval, assertion.comparison, assertion.limit);
  return evaluated;
}

Status Checks::CheckLimit(const Check& check) const {
  const Assertion& assertion = check.assertion;
  const size_t at_limit = assertion.limit_text.offset;
  if (check.kind == Check::kShare && assertion.limit > 1) {
    return assertion.ErrorAt(at_limit, "a share is at most 1, or 100%");
  }
  if (check.kind != Check::kShare && assertion.is_percent) {
    return assertion.ErrorAt(at_limit, "'%' is for shares only");
  }
  return OkStatus();
}

StatusOr<std::string> Checks::ReadCondition(const Assertion& assertion,
                                            const TextPart& condition) const {
  if (condition.text.empty()) return std::string();
  try {
    return ReadableCondition(analysis_, condition.text, taxonomy_);
  } catch (const hbbp::error& error) {
    if (error.status() != HBBP_ERROR_INVALID_ARGUMENT) return ToStatus(error);
    return InAssertion(assertion, condition, error.what());
  }
}

Measured Checks::Sum(const std::string& value, const std::string& condition) const {
  PivotRequest request;
  request.values = {value};
  request.where = condition;
  request.taxonomy = taxonomy_;
  const hbbp_pivot_cell all = MakePivot(analysis_, request).cell(HBBP_PIVOT_ALL);
  return {all.value, all.standard_error};
}

StatusOr<Check> Checks::EvaluateShare(Check check) const {
  const Assertion& assertion = check.assertion;
  HBBP_ASSIGN_OR_RETURN(const std::string condition, ReadCondition(assertion, assertion.condition));
  if (condition.empty()) {
    return assertion.ErrorAt(assertion.name.offset + kShare.size(),
                             "a condition in parentheses must follow 'share'");
  }
  PivotRequest whole;
  whole.values = {kInstructions};
  whole.taxonomy = taxonomy_;
  if (assertion.of) {
    HBBP_ASSIGN_OR_RETURN(whole.where, ReadCondition(assertion, *assertion.of));
  }
  const std::map<RowLabels, Measured> shares = ShareRows(analysis_, whole, condition);
  if (shares.empty()) {
    return assertion.ErrorAt(
        assertion.of ? assertion.of->offset : 0,
        assertion.of ? "nothing matches this condition" : "the profile has no instructions");
  }
  SetShare(shares.begin()->second, Sum(kInstructions, whole.where), &check);
  if (check.measured.value == 0) AddNothingMatches(&check);
  return check;
}

void Checks::SetShare(const Measured& share, const Measured& whole, Check* check) const {
  check->kind = Check::kShare;
  check->measured = share;
  check->interval = ShareInterval(share);
  if (share.standard_error != 0 || whole.standard_error == 0) return;
  // Observations are taken to be as many of the whole as its share of all instructions.
  const double part = whole.value / all_instructions_.value;
  const double unseen =
      MaxUnseenShare(static_cast<uint64_t>(static_cast<double>(observations_) * part));
  if (share.value == 0) check->interval.high = unseen;
  if (share.value == 1) check->interval.low = 1 - unseen;
}

void Checks::SetCount(const std::string& value, Measured measured, Check* check) const {
  check->kind = Check::kCount;
  check->measured = measured;
  if (measured.value > 0) {
    const hbbp::interval ends = hbbp::count_interval(measured.value, measured.standard_error);
    check->interval = {ends.low, ends.high};
    return;
  }
  const double max_count = std::max(all_instructions_.value, Sum(value, "").value);
  check->interval = {
      0, all_instructions_.standard_error > 0 ? max_count * MaxUnseenShare(observations_) : 0};
  if (!check->assertion.condition.text.empty()) AddNothingMatches(check);
}

void Checks::AddNothingMatches(Check* check) {
  check->notes.push_back("nothing matches '" + check->assertion.condition.text + "'");
}

Status Checks::CheckHasTotals(const Assertion& assertion) const {
  if (!is_up_to_factor_) return OkStatus();
  return assertion.ErrorAt(0,
                           "counts of this profile are up to a factor: it has shares, and ratios "
                           "of counts, and no totals");
}

StatusOr<Check> Checks::EvaluateCount(Check check) const {
  const Assertion& assertion = check.assertion;
  HBBP_RETURN_IF_ERROR(CheckHasTotals(assertion));
  HBBP_ASSIGN_OR_RETURN(const std::string condition, ReadCondition(assertion, assertion.condition));
  const std::string value = assertion.name.text;
  SetCount(value, Sum(value, condition), &check);
  return check;
}

StatusOr<Check> Checks::EvaluateEntries(Check check) const {
  const Assertion& assertion = check.assertion;
  if (assertion.condition.text.empty()) {
    return assertion.ErrorAt(
        assertion.name.offset + kEntries.size(),
        "a condition in parentheses must follow 'entries': of which functions");
  }
  HBBP_RETURN_IF_ERROR(CheckHasTotals(assertion));
  PivotRequest request;
  request.rows = {"function"};
  request.values = {"executions"};
  request.taxonomy = taxonomy_;
  HBBP_ASSIGN_OR_RETURN(request.where, ReadCondition(assertion, assertion.condition));
  const hbbp::pivot pivot = MakePivot(analysis_, request);
  constexpr size_t kMaxFunctions = 256;
  if (pivot.rows() > kMaxFunctions) {
    return assertion.ErrorAt(assertion.condition.offset,
                             std::to_string(pivot.rows()) + " functions match, more than the " +
                                 std::to_string(kMaxFunctions) + " that can be added up");
  }
  const std::vector<hbbp_function> functions = analysis_.functions();
  const std::vector<ModuleView> modules = Modules(analysis_);
  std::map<std::string, std::string> starts_by_module;
  for (size_t row = 0; row < pivot.rows(); ++row) {
    const uint32_t index = pivot.label(HBBP_PIVOT_ROWS, row).index;
    if (index >= functions.size() || functions[index].module >= modules.size()) continue;
    std::string& starts = starts_by_module[modules[functions[index].module].path];
    starts += (starts.empty() ? "" : ", ") + std::to_string(functions[index].start);
  }
  std::string starts;
  for (const auto& [module, addresses] : starts_by_module) {
    starts += (starts.empty() ? "" : " or ") + std::string("module = ") + Quoted(module) +
              " and address in (" + addresses + ")";
  }
  SetCount("executions", starts.empty() ? Measured() : Sum("executions", starts), &check);
  return check;
}

StatusOr<Check> Checks::EvaluateRatio(Check check) const {
  const Assertion& assertion = check.assertion;
  HBBP_ASSIGN_OR_RETURN(const std::string condition, ReadCondition(assertion, assertion.condition));
  const hbbp::ratios ratios = MakeRatios(analysis_, condition, taxonomy_);
  std::vector<std::string_view> known = {kShare, kEntries};
  known.insert(known.end(), values_.begin(), values_.end());
  for (const hbbp_ratio& ratio : ratios.list()) {
    const std::string& name = assertion.name.text;
    known.emplace_back(ratio.name);
    if (name != ratio.name) continue;
    const std::string_view unit = ratio.unit;
    const bool is_operations = unit == "operations", is_bytes = unit == "bytes";
    if (is_operations || is_bytes) HBBP_RETURN_IF_ERROR(CheckHasTotals(assertion));
    if (ratio.is_known == 0) {
      return assertion.ErrorAt(assertion.name.offset,
                               "'" + name +
                                   "' is not known of this profile, or of none of what "
                                   "matches the condition");
    }
    const Measured measured = {ratio.value, ratio.standard_error};
    if (unit == kShare) {
      const bool is_of_vectors = name == "packed-of-vectors";
      SetShare(
          measured,
          Sum(kInstructions,
              is_of_vectors ? BothConditions(condition, "packing in (scalar, packed)") : condition),
          &check);
    } else if (is_operations || is_bytes) {
      SetCount(is_operations          ? "flops"
               : name == "bytes-read" ? "read-bytes"
                                      : "written-bytes",
               measured, &check);
    } else {
      check.kind = Check::kRatio;
      check.measured = measured;
      check.interval = NormalInterval(measured);
      check.interval.low = std::max(check.interval.low, 0.0);
    }
    return check;
  }
  return assertion.ErrorAt(assertion.name.offset, "nothing is called '" + assertion.name.text +
                                                      "'" +
                                                      DidYouMeanOneOf(assertion.name.text, known));
}

}  // namespace hbbp::tools
