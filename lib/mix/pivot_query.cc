#include "mix/pivot_query.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "base/nearest_name.h"
#include "mix/joined_key.h"
#include "mix/pivot_axis.h"
#include "mix/pivot_input.h"
#include "mix/query_keys.h"
#include "mix/where_filter.h"

namespace hbbp {
namespace {

constexpr char kKeysAreListed[] = "; 'hbbp mix --help' lists the keys";

StatusOr<std::vector<PivotKey*>> FindKeys(const std::vector<std::string>& names, QueryKeys* keys) {
  std::vector<PivotKey*> found;
  for (const std::string& name : names) {
    PivotKey* const key = keys->Find(name);
    if (key == nullptr) {
      return MakeStatus(StatusCode::kInvalidArgument, "no key is called '%s'%s", name.c_str(),
                        DidYouMeanOneOf(name, keys->Names(), kKeysAreListed).c_str());
    }
    found.push_back(key);
  }
  return found;
}

// Properties and groups need no joined keys: they have each name once.
std::vector<std::unique_ptr<JoinedKey>> MakeJoinedKeys(std::vector<PivotKey*>* keys) {
  std::vector<std::unique_ptr<JoinedKey>> joined;
  for (PivotKey*& key : *keys) {
    if (key->level() == KeyLevel::kKind) continue;
    joined.push_back(std::make_unique<JoinedKey>(key));
    key = joined.back().get();
  }
  return joined;
}

Status CheckKeys(const PivotQuery& query) {
  std::vector<std::string> all = query.rows;
  all.insert(all.end(), query.columns.begin(), query.columns.end());
  std::sort(all.begin(), all.end());
  const auto twice = std::adjacent_find(all.begin(), all.end());
  if (twice != all.end()) {
    return MakeStatus(StatusCode::kInvalidArgument, "the key '%s' is there twice", twice->c_str());
  }
  return OkStatus();
}

// Keys belong to QueryKeys, or are the joined keys here.
struct ParsedQuery {
  std::vector<PivotKey*> row_keys;
  std::vector<PivotKey*> column_keys;
  std::vector<std::unique_ptr<JoinedKey>> joined_rows;
  std::vector<std::unique_ptr<JoinedKey>> joined_columns;
  std::unique_ptr<PivotFilter> filter;  // null: keep all
  QueryNeeds needs;
};

StatusOr<ParsedQuery> Parse(const PivotQuery& query, QueryKeys* keys) {
  HBBP_RETURN_IF_ERROR(CheckKeys(query));
  ParsedQuery parsed;
  HBBP_ASSIGN_OR_RETURN(parsed.row_keys, FindKeys(query.rows, keys));
  HBBP_ASSIGN_OR_RETURN(parsed.column_keys, FindKeys(query.columns, keys));
  if (query.join_names) {
    parsed.joined_rows = MakeJoinedKeys(&parsed.row_keys);
    parsed.joined_columns = MakeJoinedKeys(&parsed.column_keys);
  }
  if (!query.where.empty()) {
    HBBP_ASSIGN_OR_RETURN(parsed.filter, ParseWhere(query.where, keys));
  }
  parsed.needs = keys->Needs();
  parsed.needs.instructions |=
      std::any_of(query.measures.begin(), query.measures.end(), NeedsInstructions);
  return parsed;
}

}  // namespace

const std::vector<PivotMeasure>& AllPivotMeasures() {
  static const std::vector<PivotMeasure> all = {
      PivotMeasure::kInstructions, PivotMeasure::kExecutions,   PivotMeasure::kBytes,
      PivotMeasure::kReadBytes,    PivotMeasure::kWrittenBytes, PivotMeasure::kFlops};
  return all;
}

std::string_view NameOf(PivotMeasure measure) {
  switch (measure) {
    case PivotMeasure::kInstructions:
      return "instructions";
    case PivotMeasure::kExecutions:
      return "executions";
    case PivotMeasure::kBytes:
      return "bytes";
    case PivotMeasure::kReadBytes:
      return "read-bytes";
    case PivotMeasure::kWrittenBytes:
      return "written-bytes";
    case PivotMeasure::kFlops:
      return "flops";
  }
  return "";
}

StatusOr<PivotMeasure> FindPivotMeasure(std::string_view name) {
  std::vector<std::string_view> names;
  for (const PivotMeasure measure : AllPivotMeasures()) {
    if (NameOf(measure) == name) return measure;
    names.push_back(NameOf(measure));
  }
  return MakeStatus(StatusCode::kInvalidArgument, "no value is called '%s'%s",
                    std::string(name).c_str(), DidYouMeanOneOf(name, names).c_str());
}

StatusOr<QueryNeeds> FindNeeds(const Analysis& analysis, const PivotQuery& query) {
  const PivotSubject subject(analysis);
  QueryKeys keys(subject, query.taxonomies);
  HBBP_ASSIGN_OR_RETURN(const ParsedQuery parsed, Parse(query, &keys));
  return parsed.needs;
}

StatusOr<PivotTable> MakePivotTable(PivotSubject subject, const PivotQuery& query) {
  QueryKeys keys(subject, query.taxonomies);
  HBBP_ASSIGN_OR_RETURN(ParsedQuery parsed, Parse(query, &keys));
  AddMissing(parsed.needs, &subject);
  PivotDetail detail;
  detail.threads = keys.Use("thread") || keys.Use("process");
  detail.slices = keys.Use("slice");
  detail.missing_code =
      !query.only_code && (parsed.filter == nullptr || parsed.filter->DoesWithoutCode());
  const PivotInput input =
      MakePivotInput(subject.analysis, parsed.needs.instructions ? subject.code : nullptr, detail);
  PivotAxis rows(std::move(parsed.row_keys));
  PivotAxis columns(std::move(parsed.column_keys));
  Pivot pivot =
      MakePivot(input, query.measures, parsed.filter.get(), &rows, &columns, subject.work);
  return PivotTable(std::move(pivot), rows, columns, query.order, query.top);
}

}  // namespace hbbp
