#include "pivot_shares.h"

#include <utility>

namespace hbbp::tools {
namespace {

std::map<RowLabels, Measured> SumRowsWhere(const hbbp::analysis& analysis,
                                           const PivotRequest& request,
                                           const std::string& condition) {
  PivotRequest matching = request;
  matching.where = BothConditions(request.where, condition);
  return SumRows(analysis, matching);
}

Measured Find(const std::map<RowLabels, Measured>& rows, const RowLabels& labels) {
  const auto found = rows.find(labels);
  return found == rows.end() ? Measured() : found->second;
}

}  // namespace

std::string BothConditions(const std::string& first, const std::string& second) {
  return first.empty() ? "(" + second + ")" : "(" + first + ") and (" + second + ")";
}

std::string NotCondition(const std::string& condition) { return "not (" + condition + ")"; }

RowLabels FindRowLabels(const hbbp::pivot& pivot, size_t row) {
  RowLabels labels;
  for (size_t key = 0; key < pivot.keys(HBBP_PIVOT_ROWS); ++key) {
    const hbbp_pivot_label label = pivot.label(HBBP_PIVOT_ROWS, row, key);
    labels.push_back(label.text + (' ' + std::to_string(label.index)));
  }
  return labels;
}

std::map<RowLabels, Measured> SumRows(const hbbp::analysis& analysis, const PivotRequest& request) {
  const hbbp::pivot pivot = MakePivot(analysis, request);
  std::map<RowLabels, Measured> rows;
  for (size_t row = 0; row < pivot.rows(); ++row) {
    const hbbp_pivot_cell cell = pivot.cell(row);
    rows[FindRowLabels(pivot, row)] = {cell.value, cell.standard_error};
  }
  return rows;
}

std::map<RowLabels, Measured> ShareRows(const hbbp::analysis& analysis, const PivotRequest& request,
                                        const std::string& condition) {
  const std::string rest = NotCondition(condition);
  const auto parts = SumRowsWhere(analysis, request, condition);
  const auto rests = SumRowsWhere(analysis, request, rest);
  // A condition over keys that need code leaves missing code out, and so does this one.
  const auto covered = SumRowsWhere(analysis, request, "(" + condition + ") or " + rest);
  std::map<RowLabels, Measured> shares;
  for (const auto& [labels, whole] : SumRows(analysis, request)) {
    if (whole.value == 0) continue;
    shares[labels] =
        ComputeShare(Find(parts, labels), Find(rests, labels), Find(covered, labels), whole);
  }
  return shares;
}

}  // namespace hbbp::tools
