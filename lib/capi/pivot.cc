// The functions of pivot.h for pivots and ratios. hbbp_pivot_create turns names of keys and values
// into a PivotQuery (ReadQuery, with suggestions for names that are unknown) and calls
// MakePivotTable; the others copy labels, cells and ratios. taxonomy.cc has the rest of pivot.h.
#include <hbbp/pivot.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/nearest_name.h"
#include "capi/analysis_handle.h"
#include "capi/boundary.h"
#include "capi/host_handle.h"
#include "capi/taxonomy_handle.h"
#include "mix/mix_ratios.h"
#include "mix/pivot_query.h"
#include "mix/query_keys.h"

using hbbp::LabelKind;
using hbbp::MakeStatus;
using hbbp::MixRatio;
using hbbp::OkStatus;
using hbbp::PivotKeyNames;
using hbbp::PivotLabel;
using hbbp::PivotOrder;
using hbbp::PivotQuery;
using hbbp::PivotSum;
using hbbp::PivotTable;
using hbbp::Status;
using hbbp::StatusCode;
using namespace hbbp::capi;  // NOLINT(google-build-using-namespace): C functions are global

static_assert(static_cast<int>(LabelKind::kText) == HBBP_LABEL_TEXT);
static_assert(static_cast<int>(LabelKind::kNumber) == HBBP_LABEL_NUMBER);
static_assert(static_cast<int>(LabelKind::kAddress) == HBBP_LABEL_ADDRESS);
static_assert(PivotTable::kAll == HBBP_PIVOT_ALL);

struct hbbp_pivot {
  PivotTable table;
  size_t row_keys;
  size_t column_keys;
  size_t values;
};

struct hbbp_ratios {
  std::vector<MixRatio> ratios;
};

namespace {

// Makes {"a", "b"} of "a, b", {"a", ""} of "a,", and {} of "".
std::vector<std::string> SplitNames(std::string_view text) {
  std::vector<std::string> names;
  if (text.empty()) return names;
  for (size_t start = 0; start <= text.size();) {
    const size_t end = std::min(text.find(',', start), text.size());
    std::string_view name = text.substr(start, end - start);
    while (name.starts_with(' ')) name.remove_prefix(1);
    while (name.ends_with(' ')) name.remove_suffix(1);
    names.emplace_back(name);
    start = end + 1;
  }
  return names;
}

Status SetValues(const std::vector<std::string>& names, PivotQuery* query) {
  query->measures.clear();
  for (const std::string& name : names) {
    HBBP_ASSIGN_OR_RETURN(const hbbp::PivotMeasure measure, hbbp::FindPivotMeasure(name));
    const auto& measures = query->measures;
    if (std::find(measures.begin(), measures.end(), measure) != measures.end()) {
      return MakeStatus(StatusCode::kInvalidArgument, "the value '%s' is there twice",
                        name.c_str());
    }
    query->measures.push_back(measure);
  }
  if (query->measures.empty()) {
    return MakeStatus(StatusCode::kInvalidArgument, "a pivot needs a value to sum");
  }
  return OkStatus();
}

Status SetOrder(const std::string& name, PivotQuery* query) {
  std::vector<std::string_view> known = {"error", "key"};
  if (name == "error") {
    query->order.by = PivotOrder::kError;
    return OkStatus();
  }
  if (name == "key") {
    query->order.by = PivotOrder::kLabels;
    return OkStatus();
  }
  for (size_t i = 0; i < query->measures.size(); ++i) {
    if (NameOf(query->measures[i]) == name) {
      query->order.measure = i;
      return OkStatus();
    }
    known.push_back(NameOf(query->measures[i]));
  }
  return MakeStatus(StatusCode::kInvalidArgument,
                    "cannot sort by '%s', which is none of the values, 'error' or 'key'%s",
                    name.c_str(), hbbp::DidYouMean(name, known).c_str());
}

Status ReadQuery(const hbbp_pivot_query& given, PivotQuery* query) {
  if (given.join_names > 1) {
    return MakeStatus(StatusCode::kInvalidArgument, "hbbp_pivot_query.join_names must be 0 or 1");
  }
  query->join_names = given.join_names != 0;
  query->rows = SplitNames(given.rows == nullptr ? "mnemonic" : given.rows);
  query->columns = SplitNames(given.columns == nullptr ? "" : given.columns);
  HBBP_RETURN_IF_ERROR(
      SetValues(SplitNames(given.values == nullptr ? "instructions" : given.values), query));
  if (given.where != nullptr) query->where = given.where;
  if (given.sort != nullptr) HBBP_RETURN_IF_ERROR(SetOrder(given.sort, query));
  query->top = given.top;
  HBBP_ASSIGN_OR_RETURN(query->taxonomies, TaxonomiesOf(given.taxonomy));
  return OkStatus();
}

size_t LineCount(const hbbp_pivot* pivot, hbbp_pivot_axis axis) {
  if (axis == HBBP_PIVOT_ROWS) return pivot->table.row_count();
  return axis == HBBP_PIVOT_COLUMNS ? pivot->table.column_count() : 0;
}

hbbp_ratio GetRatio(const hbbp_ratios& ratios, size_t index) {
  const MixRatio& found = ratios.ratios[index];
  HBBP_INIT(hbbp_ratio, ratio);
  ratio.is_known = found.value ? 1 : 0;
  ratio.group = found.group;
  ratio.name = found.name;
  if (found.value) {
    ratio.value = found.value->count;
    ratio.standard_error = found.value->standard_error;
  }
  ratio.unit = found.unit;
  return ratio;
}

}  // namespace

extern "C" {

HBBP_API size_t hbbp_pivot_key_name_count(void) {
  return GuardCount([] { return PivotKeyNames().size(); });
}

HBBP_API const char* hbbp_pivot_key_name(size_t index) {
  // The names are C strings.
  return index < hbbp_pivot_key_name_count() ? PivotKeyNames()[index].data() : nullptr;
}

HBBP_API size_t hbbp_pivot_value_name_count(void) {
  return GuardCount([] { return hbbp::AllPivotMeasures().size(); });
}

HBBP_API const char* hbbp_pivot_value_name(size_t index) {
  return index < hbbp_pivot_value_name_count() ? NameOf(hbbp::AllPivotMeasures()[index]).data()
                                               : nullptr;
}

HBBP_API hbbp_status hbbp_pivot_create(const hbbp_analysis* analysis, const hbbp_pivot_query* query,
                                       const hbbp_work_options* work, hbbp_pivot** pivot,
                                       hbbp_error* error) {
  return Guard(error, [&]() -> Status {
    constexpr char kFunction[] = "hbbp_pivot_create";
    if (analysis == nullptr) return NullArgument(kFunction, "analysis");
    if (query == nullptr) return NullArgument(kFunction, "query");
    if (pivot == nullptr) return NullArgument(kFunction, "pivot");
    hbbp_pivot_query given;
    HBBP_RETURN_IF_ERROR(ReadInput(query, "hbbp_pivot_query", &given));
    PivotQuery read;
    HBBP_RETURN_IF_ERROR(ReadQuery(given, &read));
    HBBP_ASSIGN_OR_RETURN(const hbbp::Work chosen, ReadWork(work));
    HBBP_ASSIGN_OR_RETURN(const auto needs, FindNeeds(analysis->analysis(), read));
    HBBP_ASSIGN_OR_RETURN(auto subject, analysis->SubjectFor(needs, chosen));
    HBBP_ASSIGN_OR_RETURN(PivotTable table, MakePivotTable(std::move(subject), read));
    *pivot = new hbbp_pivot{std::move(table), read.rows.size(), read.columns.size(),
                            read.measures.size()};
    return OkStatus();
  });
}

HBBP_API void hbbp_pivot_destroy(hbbp_pivot* pivot) { delete pivot; }

HBBP_API size_t hbbp_pivot_line_count(const hbbp_pivot* pivot, hbbp_pivot_axis axis) {
  return pivot == nullptr ? 0 : LineCount(pivot, axis);
}

HBBP_API size_t hbbp_pivot_line_count_in_all(const hbbp_pivot* pivot, hbbp_pivot_axis axis) {
  if (pivot == nullptr) return 0;
  return axis == HBBP_PIVOT_ROWS ? pivot->table.rows_in_all() : LineCount(pivot, axis);
}

HBBP_API size_t hbbp_pivot_key_count(const hbbp_pivot* pivot, hbbp_pivot_axis axis) {
  if (pivot == nullptr) return 0;
  if (axis == HBBP_PIVOT_ROWS) return pivot->row_keys;
  return axis == HBBP_PIVOT_COLUMNS ? pivot->column_keys : 0;
}

HBBP_API size_t hbbp_pivot_value_count(const hbbp_pivot* pivot) {
  return pivot == nullptr ? 0 : pivot->values;
}

HBBP_API hbbp_status hbbp_pivot_get_label(const hbbp_pivot* pivot, hbbp_pivot_axis axis,
                                          size_t line, size_t key, hbbp_pivot_label* label,
                                          hbbp_error* error) {
  return Guard(error, [&]() -> Status {
    constexpr char kFunction[] = "hbbp_pivot_get_label";
    if (pivot == nullptr) return NullArgument(kFunction, "pivot");
    if (label == nullptr) return NullArgument(kFunction, "label");
    if (axis != HBBP_PIVOT_ROWS && axis != HBBP_PIVOT_COLUMNS) {
      return MakeStatus(StatusCode::kInvalidArgument, "%s: no axis %d", kFunction, axis);
    }
    if (line >= LineCount(pivot, axis)) return BadIndex(kFunction, line, LineCount(pivot, axis));
    const size_t keys = hbbp_pivot_key_count(pivot, axis);
    if (key >= keys) return BadIndex(kFunction, key, keys);
    const PivotLabel& found = axis == HBBP_PIVOT_ROWS ? pivot->table.RowLabel(line, key)
                                                      : pivot->table.ColumnLabel(line, key);
    HBBP_INIT(hbbp_pivot_label, full);
    full.kind = static_cast<hbbp_label_kind>(found.kind);
    full.text = found.text.c_str();
    // Numbers of words are those of this version of the library.
    if (found.kind != LabelKind::kText) full.number = found.number;
    full.index = found.index;
    return WriteOutput(full, "hbbp_pivot_label", label);
  });
}

HBBP_API hbbp_status hbbp_pivot_get_cell(const hbbp_pivot* pivot, size_t row, size_t column,
                                         size_t value, hbbp_pivot_cell* cell, hbbp_error* error) {
  return Guard(error, [&]() -> Status {
    constexpr char kFunction[] = "hbbp_pivot_get_cell";
    if (pivot == nullptr) return NullArgument(kFunction, "pivot");
    if (cell == nullptr) return NullArgument(kFunction, "cell");
    const PivotTable& table = pivot->table;
    if (row != HBBP_PIVOT_ALL && row >= table.row_count()) {
      return BadIndex(kFunction, row, table.row_count());
    }
    if (column != HBBP_PIVOT_ALL && column >= table.column_count()) {
      return BadIndex(kFunction, column, table.column_count());
    }
    if (value >= pivot->values) return BadIndex(kFunction, value, pivot->values);
    const PivotSum& sum = table.At(row, column, value);
    const hbbp::CountEstimate share = ComputeShare(sum, table.Whole(value));
    HBBP_INIT(hbbp_pivot_cell, full);
    full.value = sum.value;
    full.standard_error = sum.StandardError();
    full.share = share.count;
    full.share_error = share.standard_error;
    return WriteOutput(full, "hbbp_pivot_cell", cell);
  });
}

HBBP_API hbbp_status hbbp_ratios_create(const hbbp_analysis* analysis, const char* where,
                                        const hbbp_taxonomy* taxonomy,
                                        const hbbp_work_options* work, hbbp_ratios** ratios,
                                        hbbp_error* error) {
  return Guard(error, [&]() -> Status {
    if (analysis == nullptr) return NullArgument("hbbp_ratios_create", "analysis");
    if (ratios == nullptr) return NullArgument("hbbp_ratios_create", "ratios");
    HBBP_ASSIGN_OR_RETURN(const std::vector<hbbp::Taxonomy> taxonomies, TaxonomiesOf(taxonomy));
    const std::string condition = where == nullptr ? "" : where;
    HBBP_ASSIGN_OR_RETURN(const hbbp::Work chosen, ReadWork(work));
    HBBP_ASSIGN_OR_RETURN(const auto needs,
                          FindNeedsOfRatios(analysis->analysis(), condition, taxonomies));
    HBBP_ASSIGN_OR_RETURN(auto subject, analysis->SubjectFor(needs, chosen));
    HBBP_ASSIGN_OR_RETURN(std::vector<MixRatio> computed,
                          ComputeMixRatios(std::move(subject), condition, taxonomies));
    *ratios = new hbbp_ratios{std::move(computed)};
    return OkStatus();
  });
}

HBBP_API void hbbp_ratios_destroy(hbbp_ratios* ratios) { delete ratios; }

HBBP_API size_t hbbp_ratios_count(const hbbp_ratios* ratios) {
  return ratios == nullptr ? 0 : ratios->ratios.size();
}

HBBP_API hbbp_status hbbp_ratios_copy(const hbbp_ratios* ratios, size_t first, size_t count,
                                      size_t size, hbbp_ratio* elements, size_t* copied,
                                      hbbp_error* error) {
  return CopyHandleList({"hbbp_ratios_copy", "hbbp_ratio", "elements"}, "ratios", ratios,
                        hbbp_ratios_count(ratios), {first, count, size}, elements, copied, error,
                        &GetRatio);
}

}  // extern "C"
