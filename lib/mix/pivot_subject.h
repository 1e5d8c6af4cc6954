// PivotSubject is the subject of a query: an analysis, and data derived from it for queries alone,
// which a caller with several queries keeps.
#ifndef HBBP_LIB_MIX_PIVOT_SUBJECT_H_
#define HBBP_LIB_MIX_PIVOT_SUBJECT_H_

#include <memory>

#include "analysis/analysis.h"
#include "analysis/instruction_table.h"
#include "analysis/line_table_cache.h"
#include "analysis/profile_loops.h"
#include "base/work.h"

namespace hbbp {

// The data that a query needs besides the analysis.
struct QueryNeeds {
  bool instructions = false;
  bool loops = false;
  bool lines = false;
};

struct PivotSubject {
  PivotSubject(const Analysis& of) : analysis(of) {}  // NOLINT: implicit by design

  const Analysis& analysis;
  std::shared_ptr<const InstructionTable> code;  // of the analysis
  std::shared_ptr<const ProfileLoops> loops;     // of the analysis
  Work work;                                     // how what is missing is made, and the answer
  const LineTableCache* lines = nullptr;         // null: lines are unknown
};

// Makes the code and the loops that a query needs and the subject lacks.
void AddMissing(const QueryNeeds& needs, PivotSubject* subject);

}  // namespace hbbp

#endif  // HBBP_LIB_MIX_PIVOT_SUBJECT_H_
