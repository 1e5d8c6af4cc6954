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
      "--estimator", &estimator_, "NAME|FILE.json",
      "which source counts a block: auto, ebs, streams (lbr, swbt), tree (either), flow (both), "
      "or a tree of hbbp train (auto)");
}

Status EstimatorOption::Apply(hbbp_profile* profile) const {
  HBBP_INIT(hbbp_estimator_options, options);
  std::string tree;
  const auto* const name = std::find(std::begin(kNames), std::end(kNames), estimator_);
  if (name != std::end(kNames)) {
    options.estimator = static_cast<hbbp_estimator>(name - kNames);
  } else {
    const StatusOr<std::vector<uint8_t>> bytes = ReadFile(estimator_);
    if (!bytes.ok()) {
      return bytes.status().Annotate(
          "--estimator: neither auto, ebs, streams, tree, flow nor a file");
    }
    tree.assign(bytes->begin(), bytes->end());
    options.estimator = HBBP_ESTIMATOR_TREE;
    options.tree = tree.c_str();
  }
  HBBP_INIT(hbbp_error, error);
  if (hbbp_profile_set_estimator(profile, &options, &error) == HBBP_OK) return OkStatus();
  return options.tree == nullptr ? ToStatus(error) : ToStatus(error).Annotate(estimator_);
}

}  // namespace hbbp::tools
