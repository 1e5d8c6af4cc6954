// Analyze() turns the counted addresses of a profile into blocks, functions and their counts.
//
//   events         chooses those that count                         estimate/event_choice.h
//   modules        finds their code again                           resolved_modules.h
//   observations   attributes samples and streams to blocks         block_observations.h
//   estimator      chooses it, and the scale of counts              estimate/family_counts.h
//   counts         counts blocks, and what each thread adds         estimate/block_counts.h
//   functions      adds up their blocks                             function_records.h
//   branches, IBS  adds up equal addresses                          taken_branches.h, ibs_sums.h
//   data           adds up accesses by object                       ibs_objects.h
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

// Returns kCancelled if `work` is cancelled, and kNotFound if there is no sample of the event that
// `options` name. Missing code is not an error: modules have problems,
// and samples are unexplained.
StatusOr<Analysis> Analyze(ProfileData data, const AnalysisOptions& options = {},
                           const Work& work = {});

// Takes modules that may be open already, and keeps them open.
StatusOr<Analysis> Analyze(std::shared_ptr<const ResolvedModules> modules,
                           const EstimatorOptions& estimator = {}, const Work& work = {});

}  // namespace hbbp

#endif  // HBBP_LIB_ANALYSIS_ANALYZE_H_
