// Pivots of a profile, asked for by name.
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
  std::vector<std::string> rows;     // names of keys; without any there is one row
  std::vector<std::string> columns;  // may be empty
  std::vector<PivotMeasure> measures = {PivotMeasure::kInstructions};
  std::string where;                 // empty: all
  std::vector<Taxonomy> taxonomies;  // whose names are keys
  PivotOrder order;
  size_t top = 0;           // rows at most; 0: all
  bool join_names = false;  // what has one name is one line (joined_key.h)
  bool only_code = false;   // nothing of code that is missing
};

// "read-bytes".
std::string_view NameOf(PivotMeasure measure);
const std::vector<PivotMeasure>& AllPivotMeasures();
// kInvalidArgument for an unknown name, with the nearest one.
StatusOr<PivotMeasure> FindPivotMeasure(std::string_view name);

// Errors: those of MakePivotTable.
StatusOr<QueryNeeds> FindNeeds(const Analysis& analysis, const PivotQuery& query);

// What the query needs and the subject does not have is made for this query (pivot_subject.h).
// kInvalidArgument: an unknown key, a key twice, a filter that cannot be read.
StatusOr<PivotTable> MakePivotTable(PivotSubject subject, const PivotQuery& query);

}  // namespace hbbp

#endif  // HBBP_LIB_MIX_PIVOT_QUERY_H_
