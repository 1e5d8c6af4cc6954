// The options that select the observations of block counts.
#ifndef HBBP_TOOLS_ESTIMATOR_OPTION_H_
#define HBBP_TOOLS_ESTIMATOR_OPTION_H_

#include <hbbp/hbbp.hpp>
#include <string>

#include "base/status.h"
#include "options.h"

namespace hbbp::tools {

const char* EstimatorName(hbbp_estimator estimator);  // "streams"

class EstimatorOption {
 public:
  // The options are valid as long as this object.
  void AddTo(Options* options);
  // Reads the file of a tree, if the option names one.
  Status Read();
  // Analyses with the options, which Read() has read, and the rest of `options`. If the tree is the
  // reason of a failure, the message names its file.
  hbbp::analysis Analyse(const hbbp::profile_view& profile,
                         hbbp_analysis_options options = {}) const;

 private:
  std::string text_ = "auto";
  std::string event_;
  hbbp_estimator estimator_ = HBBP_ESTIMATOR_AUTO;
  bool has_tree_ = false;
  std::string tree_;  // JSON
};

}  // namespace hbbp::tools

#endif  // HBBP_TOOLS_ESTIMATOR_OPTION_H_
