#include "profile_options.h"

#include "profile_view.h"

namespace hbbp::tools {

void ProfileOptions::AddTo(Options* options) {
  estimator_.AddTo(options);
  files_.AddTo(options);
  kernel_.AddTo(options);
}

StatusOr<hbbp::analysis> ProfileOptions::Analyse(const std::vector<std::string>& files,
                                                 DebugInfoOptions* debug_info) {
  const hbbp::profile profile = LoadProfiles(files);
  HBBP_RETURN_IF_ERROR(estimator_.Read());
  HBBP_RETURN_IF_ERROR(files_.Read());
  const hbbp_kernel_files kernel = kernel_.Files();
  hbbp_analysis_options options = {};
  options.kernel = &kernel;
  files_.SetTo(&options);
  HBBP_INIT(hbbp_debug_options, debug);
  if (debug_info != nullptr) {
    debug = debug_info->Get();
    options.debug = &debug;
  }
  return estimator_.Analyse(profile, options);
}

}  // namespace hbbp::tools
