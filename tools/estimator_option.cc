#include "estimator_option.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <vector>

#include "base/files.h"

namespace hbbp::tools {
namespace {

constexpr const char* kNames[] = {"auto", "ebs", "streams", "tree", "flow"};
static_assert(HBBP_ESTIMATOR_FLOW + 1 == std::size(kNames));

}  // namespace

const char* EstimatorName(hbbp_estimator estimator) {
  const bool is_known = estimator >= 0 && static_cast<size_t>(estimator) < std::size(kNames);
  return is_known ? kNames[estimator] : "unknown";
}

void EstimatorOption::AddTo(Options* options) {
  options->Value(
      "--estimator", &text_, "NAME|FILE.json",
      "which source counts a block: auto, ebs, streams (lbr, swbt), tree (either), flow (both), "
      "or a tree of hbbp train (auto)");
  options->Value("--event", &event_, "NAME",
                 "the event whose samples count, of several (the best for counting)");
}

Status EstimatorOption::Read() {
  const auto* const name = std::find(std::begin(kNames), std::end(kNames), text_);
  if (name != std::end(kNames)) {
    estimator_ = static_cast<hbbp_estimator>(name - kNames);
    return OkStatus();
  }
  const StatusOr<std::vector<uint8_t>> bytes = ReadFile(text_);
  if (!bytes.ok()) {
    return bytes.status().Annotate(
        "--estimator: neither auto, ebs, streams, tree, flow nor a file");
  }
  estimator_ = HBBP_ESTIMATOR_TREE;
  tree_.assign(bytes->begin(), bytes->end());
  has_tree_ = true;
  return OkStatus();
}

hbbp::analysis EstimatorOption::Analyse(const hbbp::profile_view& profile,
                                        hbbp_analysis_options options) const {
  options.estimator = estimator_;
  if (has_tree_) options.tree = tree_.c_str();
  if (!event_.empty()) options.event = event_.c_str();
  try {
    return hbbp::analysis(profile, options);
  } catch (const hbbp::error& error) {
    const std::string message = error.what();
    const bool is_of_tree = has_tree_ && message.starts_with("decision tree: ");
    if (!is_of_tree) throw;
    throw hbbp::error(error.status(), text_ + ": " + message);
  }
}

}  // namespace hbbp::tools
