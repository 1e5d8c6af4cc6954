// The options of every command that counts blocks: which observations count, and of which kernel.
#ifndef HBBP_TOOLS_PROFILE_OPTIONS_H_
#define HBBP_TOOLS_PROFILE_OPTIONS_H_

#include <string>
#include <vector>

#include "base/status.h"
#include "estimator_option.h"
#include "kernel_options.h"
#include "options.h"
#include "profile_view.h"

namespace hbbp::tools {

class ProfileOptions {
 public:
  // The options are valid as long as this object.
  void AddTo(Options* options);
  // The sum of the profiles, to be counted as the options say.
  StatusOr<ProfileHandle> Load(const std::vector<std::string>& files) const;

 private:
  EstimatorOption estimator_;
  KernelOptions kernel_;
};

}  // namespace hbbp::tools

#endif  // HBBP_TOOLS_PROFILE_OPTIONS_H_
