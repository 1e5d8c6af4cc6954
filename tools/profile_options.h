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
#include "table.h"

namespace hbbp::tools {

// OtherEvent is an analysis by the samples of an event that is shown as a column.
struct OtherEvent {
  std::string name;
  hbbp::analysis analysis;

  // Returns how many of the event were sampled in code with that number of instructions.
  double Events(double instructions) const { return instructions / analysis.info().ebs_scale; }
};

// Adds a column for the event. In JSON an event with the name of another column is NAME_event.
void AddEventColumn(const std::string& name, std::vector<Column>* columns);

class ProfileOptions {
 public:
  // The options are valid as long as this object.
  void AddTo(Options* options);
  // Analyses the sum of the profiles with the options. `debug_info`, which may be null, must
  // outlive the analysis.
  StatusOr<hbbp::analysis> Analyse(const std::vector<std::string>& files,
                                   DebugInfoOptions* debug_info = nullptr);
  // Analyses each of several profiles by itself. Each option --file has to be of one of them.
  StatusOr<std::vector<hbbp::analysis>> AnalyseEach(const std::vector<std::string>& files,
                                                    DebugInfoOptions* debug_info = nullptr);

  // Adds --also, for the events of AnalyseOthers.
  void AddOthersTo(Options* options);
  bool HasOthers() const { return !others_.empty(); }
  // Analyses the same profile by each of the events, with the other options.
  std::vector<OtherEvent> AnalyseOthers(const hbbp::analysis& analysis,
                                        DebugInfoOptions* debug_info = nullptr) const;

 private:
  // Analyses with the fields of `options` that are set, and all other options.
  hbbp::analysis Analyse(const hbbp::profile& profile, hbbp_analysis_options options,
                         DebugInfoOptions* debug_info) const;

  EstimatorOption estimator_;
  FileOptions files_;
  KernelOptions kernel_;
  std::vector<std::string> others_;
};

}  // namespace hbbp::tools

#endif  // HBBP_TOOLS_PROFILE_OPTIONS_H_
