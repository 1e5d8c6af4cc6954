// The option that says which observations block counts come from.
#ifndef HBBP_TOOLS_ESTIMATOR_OPTION_H_
#define HBBP_TOOLS_ESTIMATOR_OPTION_H_

#include <string>

#include "base/status.h"
#include "options.h"
#include "profile_view.h"

namespace hbbp::tools {

const char* EstimatorName(hbbp_estimator estimator);  // "streams"

class EstimatorOption {
 public:
  // The option is valid as long as this object.
  void AddTo(Options* options);
  Status Apply(hbbp_profile* profile) const;

 private:
  std::string estimator_ = "auto";
};

}  // namespace hbbp::tools

#endif  // HBBP_TOOLS_ESTIMATOR_OPTION_H_
