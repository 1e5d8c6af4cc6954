// An analysis that works, for tests.
#ifndef HBBP_TESTS_SUPPORT_ANALYZE_OR_FAIL_H_
#define HBBP_TESTS_SUPPORT_ANALYZE_OR_FAIL_H_

#include <utility>

#include "analysis/analyze.h"
#include "support/catch.h"

namespace hbbp {

inline Analysis AnalyzeOrFail(ProfileData data, const AnalysisOptions& options = {}) {
  StatusOr<Analysis> analysis = Analyze(std::move(data), options);
  INFO(analysis.status().message());
  REQUIRE(analysis.ok());
  return *std::move(analysis);
}

}  // namespace hbbp

#endif  // HBBP_TESTS_SUPPORT_ANALYZE_OR_FAIL_H_
