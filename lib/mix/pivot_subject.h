// PivotSubject: what a query is about: an analysis, and what is made of it for queries alone. Who
// makes several queries keeps that.
#ifndef HBBP_LIB_MIX_PIVOT_SUBJECT_H_
#define HBBP_LIB_MIX_PIVOT_SUBJECT_H_

#include <memory>

#include "analysis/analysis.h"
#include "analysis/described_code.h"
#include "analysis/line_table_cache.h"
#include "analysis/profile_loops.h"

namespace hbbp {

// What a query has to know besides the analysis.
struct QueryNeeds {
  bool instructions = false;
  bool loops = false;
  bool lines = false;
};

struct PivotSubject {
  PivotSubject(const Analysis& of) : analysis(of) {}  // NOLINT: implicit by design

  const Analysis& analysis;
  std::shared_ptr<const DescribedCode> code;  // of the analysis
  std::shared_ptr<const ProfileLoops> loops;  // of the analysis
  const LineTableCache* lines = nullptr;      // null: no line is known
};

// Makes the code and the loops that a query needs and the subject does not have.
void AddMissing(const QueryNeeds& needs, PivotSubject* subject);

}  // namespace hbbp

#endif  // HBBP_LIB_MIX_PIVOT_SUBJECT_H_
