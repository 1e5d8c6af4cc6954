// Computes sums and shares of what matches a condition, for each row of a pivot, with their errors.
#ifndef HBBP_TOOLS_PIVOT_SHARES_H_
#define HBBP_TOOLS_PIVOT_SHARES_H_

#include <hbbp/hbbp.hpp>
#include <map>
#include <string>
#include <vector>

#include "measured.h"
#include "pivot_view.h"

namespace hbbp::tools {

// Conditions that MakePivot understands. An empty one, which matches everything, may be only the
// first of two.
std::string BothConditions(const std::string& first, const std::string& second);
std::string NotCondition(const std::string& condition);

// The labels of a row. Each has the index of what it stands for, because functions may have one
// name.
using RowLabels = std::vector<std::string>;
RowLabels FindRowLabels(const hbbp::pivot& pivot, size_t row);

// Returns the first value of all rows. Without keys there is one row without labels.
std::map<RowLabels, Measured> SumRows(const hbbp::analysis& analysis, const PivotRequest& request);

// Returns, for each row of the request, which share of its first value is of what matches
// `condition`. Rows that are 0 are left out.
std::map<RowLabels, Measured> ShareRows(const hbbp::analysis& analysis, const PivotRequest& request,
                                        const std::string& condition);

}  // namespace hbbp::tools

#endif  // HBBP_TOOLS_PIVOT_SHARES_H_
