#include "profile_options.h"

#include <algorithm>

#include "profile_view.h"

namespace hbbp::tools {

void ProfileOptions::AddTo(Options* options) {
  estimator_.AddTo(options);
  files_.AddTo(options);
  kernel_.AddTo(options);
}

hbbp::analysis ProfileOptions::Analyse(const hbbp::profile& profile, hbbp_analysis_options options,
                                       DebugInfoOptions* debug_info) const {
  const hbbp_kernel_files kernel = kernel_.Files();
  options.kernel = &kernel;
  HBBP_INIT(hbbp_debug_options, debug);
  if (debug_info != nullptr) {
    debug = debug_info->Get();
    options.debug = &debug;
  }
  return estimator_.Analyse(profile, options);
}

StatusOr<hbbp::analysis> ProfileOptions::Analyse(const std::vector<std::string>& files,
                                                 DebugInfoOptions* debug_info) {
  const hbbp::profile profile = LoadProfiles(files);
  HBBP_RETURN_IF_ERROR(estimator_.Read());
  HBBP_RETURN_IF_ERROR(files_.Read());
  hbbp_analysis_options options = {};
  files_.SetTo(&options);
  return Analyse(profile, options, debug_info);
}

StatusOr<std::vector<hbbp::analysis>> ProfileOptions::AnalyseEach(
    const std::vector<std::string>& files, DebugInfoOptions* debug_info) {
  HBBP_RETURN_IF_ERROR(estimator_.Read());
  HBBP_RETURN_IF_ERROR(files_.Read());
  std::vector<hbbp::analysis> analyses;
  for (const std::string& file : files) {
    const hbbp::profile profile = LoadProfile(file);
    hbbp_analysis_options options = {};
    files_.SetTo(profile, &options);
    analyses.push_back(Analyse(profile, options, debug_info));
  }
  HBBP_RETURN_IF_ERROR(files_.CheckUsed());
  return analyses;
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
