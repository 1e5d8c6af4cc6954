#include "profile_options.h"

#include <algorithm>

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

void AddEventColumn(const std::string& name, std::vector<Column>* columns) {
  const bool is_taken = std::any_of(columns->begin(), columns->end(),
                                    [&](const Column& column) { return column.key == name; });
  columns->push_back({is_taken ? name + "_event" : name, name, Column::kCount});
}

void ProfileOptions::AddOthersTo(Options* options) {
  options->Values("--also", &others_, "EVENT",
                  "a column with what was sampled of another event in each row; may be repeated");
}

std::vector<OtherEvent> ProfileOptions::AnalyseOthers(const hbbp::analysis& analysis,
                                                      DebugInfoOptions* debug_info) const {
  const hbbp_kernel_files kernel = kernel_.Files();
  HBBP_INIT(hbbp_debug_options, debug);
  if (debug_info != nullptr) debug = debug_info->Get();
  std::vector<OtherEvent> events;
  for (const std::string& name : others_) {
    hbbp_analysis_options options = {};
    options.kernel = &kernel;
    options.event = name.c_str();
    options.estimator = HBBP_ESTIMATOR_EBS;
    if (debug_info != nullptr) options.debug = &debug;
    events.push_back({name, hbbp::analysis(analysis.get_profile(), options)});
  }
  return events;
}

}  // namespace hbbp::tools
