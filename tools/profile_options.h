// Declares the options of commands that analyse profiles, and the analysis with these options.
#ifndef HBBP_TOOLS_PROFILE_OPTIONS_H_
#define HBBP_TOOLS_PROFILE_OPTIONS_H_

#include <hbbp/hbbp.hpp>
#include <string>
#include <vector>

#include "base/status.h"
#include "debug_info_options.h"
#include "estimator_option.h"
#include "file_options.h"
#include "kernel_options.h"
#include "options.h"

namespace hbbp::tools {

class ProfileOptions {
 public:
  // The options are valid as long as this object.
  void AddTo(Options* options);
  // Analyses the sum of the profiles with the options. `debug_info`, which may be null, must
  // outlive the analysis.
  StatusOr<hbbp::analysis> Analyse(const std::vector<std::string>& files,
                                   DebugInfoOptions* debug_info = nullptr);

 private:
  EstimatorOption estimator_;
  FileOptions files_;
  KernelOptions kernel_;
};

}  // namespace hbbp::tools

#endif  // HBBP_TOOLS_PROFILE_OPTIONS_H_
