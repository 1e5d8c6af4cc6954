// The options of commands that look at what profiles counted, and the analysis that these ask for.
#ifndef HBBP_TOOLS_PROFILE_OPTIONS_H_
#define HBBP_TOOLS_PROFILE_OPTIONS_H_

#include <hbbp/hbbp.hpp>
#include <string>
#include <vector>

#include "base/status.h"
#include "debug_info_options.h"
#include "estimator_option.h"
#include "kernel_options.h"
#include "options.h"

namespace hbbp::tools {

class ProfileOptions {
 public:
  // The options are valid as long as this object.
  void AddTo(Options* options);
  // Analyses the sum of the profiles as the options say. `debug_info`, which may be null, must
  // outlive the analysis.
  StatusOr<hbbp::analysis> Analyse(const std::vector<std::string>& files,
                                   DebugInfoOptions* debug_info = nullptr);

 private:
  EstimatorOption estimator_;
  KernelOptions kernel_;
};

}  // namespace hbbp::tools

#endif  // HBBP_TOOLS_PROFILE_OPTIONS_H_
