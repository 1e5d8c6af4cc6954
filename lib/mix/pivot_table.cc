#include "mix/pivot_table.h"

#include <algorithm>
#include <numeric>
#include <span>
#include <utility>

namespace hbbp {
namespace {

uint64_t Packed(const PivotCell& cell) { return uint64_t{cell.row} << 32 | cell.column; }

// Returns the labels of the values that occur. Every `step`th number from `first` on is a value,
// and is replaced by the rank of its label. kNoCode comes last.
std::vector<PivotLabel> RankValues(const PivotKey& key, size_t first, size_t step,
                                   std::vector<uint32_t>* values) {
  std::vector<uint32_t> rank_of_value;
  for (size_t i = first; i < values->size(); i += step) {
    const uint32_t value = (*values)[i];
    if (value == kNoCode) continue;
    if (value >= rank_of_value.size()) rank_of_value.resize(value + size_t{1}, kNoIndex);
    rank_of_value[value] = 0;
  }
  std::vector<std::pair<PivotLabel, uint32_t>> sorted;
  for (uint32_t value = 0; value < rank_of_value.size(); ++value) {
    if (rank_of_value[value] != kNoIndex) sorted.emplace_back(key.LabelOf(value), value);
  }
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return IsBefore(a.first, b.first); });
  std::vector<PivotLabel> labels;
  labels.reserve(sorted.size());
  for (auto& [label, value] : sorted) {
    rank_of_value[value] = static_cast<uint32_t>(labels.size());
    labels.push_back(std::move(label));
  }
  const auto no_code = static_cast<uint32_t>(labels.size());
  bool has_no_code = false;
  for (size_t i = first; i < values->size(); i += step) {
    uint32_t& value = (*values)[i];
    has_no_code |= value == kNoCode;
    value = value == kNoCode ? no_code : rank_of_value[value];
  }
  if (has_no_code) labels.push_back(NoCodeLabel());
  return labels;
}

}  // namespace

PivotTable::PivotTable(Pivot pivot, const PivotAxis& rows, const PivotAxis& columns,
                       const PivotOrder& order, size_t top)
    : pivot_(std::move(pivot)), sorted_cells_(pivot_.cells.size()) {
  std::iota(sorted_cells_.begin(), sorted_cells_.end(), 0);
  std::sort(sorted_cells_.begin(), sorted_cells_.end(), [&](uint32_t a, uint32_t b) {
    return Packed(pivot_.cells[a]) < Packed(pivot_.cells[b]);
  });
  rows_ = MakeAxis(rows);
  Sort(pivot_.rows, order, top, &rows_);
  if (columns.empty()) return;
  columns_ = MakeAxis(columns);
  const auto has_text = [](const PivotLabel& label) {
    return label.kind == LabelKind::kText && label.text != NoCodeLabel().text;
  };
  const std::vector<PivotLabel>& first_labels = columns_.labels.front();
  PivotOrder column_order;
  if (std::none_of(first_labels.begin(), first_labels.end(), has_text)) {
    column_order.by = PivotOrder::kLabels;
  }
  Sort(pivot_.columns, column_order, 0, &columns_);
}

PivotTable::Axis PivotTable::MakeAxis(const PivotAxis& numbers) {
  const size_t keys = numbers.keys().size();
  Axis axis;
  axis.lines = numbers.size();
  axis.ranks.resize(axis.lines * keys);
  for (uint32_t line = 0; line < numbers.size(); ++line) {
    numbers.CopyValues(line, std::span(axis.ranks).subspan(line * keys, keys));
  }
  for (size_t key = 0; key < keys; ++key) {
    axis.labels.push_back(RankValues(*numbers.keys()[key], key, keys, &axis.ranks));
  }
  return axis;
}

void PivotTable::Sort(const PivotSums& sums, const PivotOrder& order, size_t top, Axis* axis) {
  std::vector<double> weights(axis->lines);
  for (size_t line = 0; line < axis->lines && order.by != PivotOrder::kLabels; ++line) {
    weights[line] = order.by == PivotOrder::kError ? sums.At(line, order.measure).StandardError()
                                                   : sums.ValueAt(line, order.measure);
  }
  axis->shown.resize(axis->lines);
  std::iota(axis->shown.begin(), axis->shown.end(), 0);
  const size_t keys = axis->labels.size();
  const auto is_before = [&](uint32_t a, uint32_t b) {
    if (weights[a] != weights[b]) return weights[a] > weights[b];
    const uint32_t* const ranks = axis->ranks.data();
    return std::lexicographical_compare(ranks + a * keys, ranks + (a + 1) * keys, ranks + b * keys,
                                        ranks + (b + 1) * keys);
  };
  if (top == 0 || top >= axis->shown.size()) {
    std::sort(axis->shown.begin(), axis->shown.end(), is_before);
    return;
  }
  std::partial_sort(axis->shown.begin(), axis->shown.begin() + static_cast<ptrdiff_t>(top),
                    axis->shown.end(), is_before);
  axis->shown.resize(top);
}

PivotSum PivotTable::At(size_t row, size_t column, size_t measure) const {
  if (row == kAll && column == kAll) return Whole(measure);
  if (column == kAll) return pivot_.rows.At(rows_.shown[row], measure);
  if (row == kAll) return pivot_.columns.At(columns_.shown[column], measure);
  const PivotCell cell = {rows_.shown[row], columns_.shown[column]};
  const auto found = std::lower_bound(
      sorted_cells_.begin(), sorted_cells_.end(), Packed(cell),
      [this](uint32_t a, uint64_t packed) { return Packed(pivot_.cells[a]) < packed; });
  if (found == sorted_cells_.end() || Packed(pivot_.cells[*found]) != Packed(cell)) {
    return {};
  }
  return pivot_.cell_sums.At(*found, measure);
}

}  // namespace hbbp
