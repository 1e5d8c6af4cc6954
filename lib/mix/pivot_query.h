// Computes pivots of a profile from queries by name.
#ifndef HBBP_LIB_MIX_PIVOT_QUERY_H_
#define HBBP_LIB_MIX_PIVOT_QUERY_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "isa/taxonomy.h"
#include "mix/pivot.h"
#include "mix/pivot_subject.h"
#include "mix/pivot_table.h"

namespace hbbp {

struct PivotQuery {
  std::vector<std::string> rows;     // names of keys; if empty, there is one row
  std::vector<std::string> columns;  // may be empty
  std::vector<PivotMeasure> measures = {PivotMeasure::kInstructions};
  std::string where;                 // empty: all
  std::vector<Taxonomy> taxonomies;  // their names are keys
  PivotOrder order;
  size_t top = 0;           // maximum number of rows; 0: all
  bool join_names = false;  // values of one name are one line (joined_key.h)
  bool only_code = false;   // drops code that is missing
};

// Returns the name, such as "read-bytes".
std::string_view NameOf(PivotMeasure measure);
const std::vector<PivotMeasure>& AllPivotMeasures();
// Returns kInvalidArgument for an unknown name, with the nearest one.
StatusOr<PivotMeasure> FindPivotMeasure(std::string_view name);

// Returns the errors of MakePivotTable.
StatusOr<QueryNeeds> FindNeeds(const Analysis& analysis, const PivotQuery& query);

// Data that the subject lacks is made for this query (pivot_subject.h). Returns kInvalidArgument
// for an unknown key, a repeated key, or a filter that cannot be parsed.
StatusOr<PivotTable> MakePivotTable(PivotSubject subject, const PivotQuery& query);

}  // namespace hbbp

#endif  // HBBP_LIB_MIX_PIVOT_QUERY_H_
