// Analyze(): from what was counted to blocks, functions and their counts.
//
//   modules        their code is found again                     resolved_modules.h
//   observations   samples and streams are put into blocks       block_observations.h
//   estimator      which one, and what makes counts comparable   estimate/family_counts.h
//   counts         of blocks, and what each thread adds          estimate/block_counts.h
//   functions      what their blocks add up to                   function_records.h
//   branches, IBS  each address once                             taken_branches.h, ibs_sums.h
#ifndef HBBP_LIB_ANALYSIS_ANALYZE_H_
#define HBBP_LIB_ANALYSIS_ANALYZE_H_

#include <memory>

#include "analysis/analysis.h"
#include "analysis/kernel_resolver.h"
#include "analysis/resolved_modules.h"
#include "base/status.h"
#include "base/work.h"
#include "estimate/family_choice.h"
#include "profile/profile_data.h"

namespace hbbp {

struct AnalysisOptions {
  EstimatorOptions estimator = {};
  KernelFiles kernel_files = {};
};

// kCancelled if `work` is cancelled. What code could not be found is no error: modules have
// problems, and samples are unexplained.
StatusOr<Analysis> Analyze(ProfileData data, const AnalysisOptions& options = {},
                           const Work& work = {});

// The same of modules that may be open already, and stay open.
StatusOr<Analysis> Analyze(std::shared_ptr<const ResolvedModules> modules,
                           const EstimatorOptions& estimator = {}, const Work& work = {});

}  // namespace hbbp

#endif  // HBBP_LIB_ANALYSIS_ANALYZE_H_
