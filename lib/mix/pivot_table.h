// PivotTable is a pivot with names instead of numbers, sorted, for people and programs to read.
#ifndef HBBP_LIB_MIX_PIVOT_TABLE_H_
#define HBBP_LIB_MIX_PIVOT_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "mix/pivot.h"
#include "mix/pivot_axis.h"
#include "mix/pivot_key.h"

namespace hbbp {

// The order of the rows.
struct PivotOrder {
  enum By : uint8_t { kValue, kError, kLabels };
  By by = kValue;
  // index of a measure of the pivot; kValue and kError sort by it, largest first
  size_t measure = 0;
};

class PivotTable {
 public:
  // Stands for all rows, or all columns.
  static constexpr size_t kAll = SIZE_MAX;

  // Keeps the first `top` rows, or all if it is 0. Columns are sorted by their labels if these are
  // numbers, else by their first value. Ties are in the order of labels.
  PivotTable(Pivot pivot, const PivotAxis& rows, const PivotAxis& columns, const PivotOrder& order,
             size_t top);

  size_t row_count() const { return rows_.shown.size(); }
  size_t rows_in_all() const { return rows_.lines; }
  size_t column_count() const { return columns_.shown.size(); }

  const PivotLabel& RowLabel(size_t row, size_t key) const { return rows_.Label(row, key); }
  const PivotLabel& ColumnLabel(size_t column, size_t key) const {
    return columns_.Label(column, key);
  }

  // kAll includes rows, or columns, that are not shown. A cell without additions is 0.
  PivotSum At(size_t row, size_t column, size_t measure) const;
  PivotSum Whole(size_t measure) const { return pivot_.whole.At(0, measure); }

 private:
  struct Axis {
    size_t lines = 0;
    std::vector<std::vector<PivotLabel>> labels;  // by key, in their order
    std::vector<uint32_t> ranks;                  // of labels, by line and key
    std::vector<uint32_t> shown;                  // lines, in order

    const PivotLabel& Label(size_t shown_line, size_t key) const {
      return labels[key][ranks[shown[shown_line] * labels.size() + key]];
    }
  };

  static Axis MakeAxis(const PivotAxis& numbers);
  static void Sort(const PivotSums& sums, const PivotOrder& order, size_t top, Axis* axis);

  Pivot pivot_;
  std::vector<uint32_t> sorted_cells_;  // indices of pivot_.cells, by row and column
  Axis rows_;
  Axis columns_;
};

}  // namespace hbbp

#endif  // HBBP_LIB_MIX_PIVOT_TABLE_H_
