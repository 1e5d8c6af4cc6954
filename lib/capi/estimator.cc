#include <hbbp/estimator.h>

#include <algorithm>
#include <utility>

#include "capi/boundary.h"
#include "capi/profile_handle.h"

using hbbp::DecisionTree;
using hbbp::EstimatorKind;
using hbbp::EstimatorOptions;
using hbbp::MakeStatus;
using hbbp::OkStatus;
using hbbp::Status;
using hbbp::StatusCode;
using namespace hbbp::capi;  // NOLINT(google-build-using-namespace): C functions are global

static_assert(static_cast<int>(EstimatorKind::kAuto) == HBBP_ESTIMATOR_AUTO);
static_assert(static_cast<int>(EstimatorKind::kEbs) == HBBP_ESTIMATOR_EBS);
static_assert(static_cast<int>(EstimatorKind::kStreams) == HBBP_ESTIMATOR_STREAMS);
static_assert(static_cast<int>(EstimatorKind::kTree) == HBBP_ESTIMATOR_TREE);
static_assert(static_cast<int>(EstimatorKind::kFlow) == HBBP_ESTIMATOR_FLOW);

extern "C" {

HBBP_API hbbp_status hbbp_profile_set_estimator(hbbp_profile* profile,
                                                const hbbp_estimator_options* options,
                                                hbbp_error* error) {
  return Guard(error, [&]() -> Status {
    constexpr char kFunction[] = "hbbp_profile_set_estimator";
    if (profile == nullptr) return NullArgument(kFunction, "profile");
    if (options == nullptr) return NullArgument(kFunction, "options");
    hbbp_estimator_options full;
    HBBP_RETURN_IF_ERROR(ReadInput(options, "hbbp_estimator_options", &full));
    if (full.estimator < HBBP_ESTIMATOR_AUTO || full.estimator > HBBP_ESTIMATOR_FLOW) {
      return MakeStatus(StatusCode::kInvalidArgument, "%s: no estimator %d", kFunction,
                        full.estimator);
    }
    if (full.tree != nullptr && full.estimator != HBBP_ESTIMATOR_TREE) {
      return MakeStatus(StatusCode::kInvalidArgument, "%s: a tree is for HBBP_ESTIMATOR_TREE only",
                        kFunction);
    }
    EstimatorOptions chosen;
    chosen.kind = static_cast<EstimatorKind>(full.estimator);
    if (full.tree != nullptr) {
      HBBP_ASSIGN_OR_RETURN(chosen.tree, DecisionTree::FromJson(full.tree));
    }
    profile->SetEstimator(std::move(chosen));
    return OkStatus();
  });
}

HBBP_API hbbp_status hbbp_profile_get_estimator(const hbbp_profile* profile,
                                                hbbp_estimator_info* info, hbbp_error* error) {
  return Guard(error, [&]() -> Status {
    if (profile == nullptr) return NullArgument("hbbp_profile_get_estimator", "profile");
    if (info == nullptr) return NullArgument("hbbp_profile_get_estimator", "info");
    HBBP_INIT(hbbp_estimator_info, full);
    HBBP_ASSIGN_OR_RETURN(const auto analysis, profile->Analyze());
    full.estimator = static_cast<hbbp_estimator>(analysis->estimator());
    full.ebs_scale = analysis->family_scales().ebs;
    full.streams_scale = analysis->family_scales().streams;
    full.is_one_scale = analysis->family_scales().are_common ? 1 : 0;
    return WriteOutput(full, "hbbp_estimator_info", info);
  });
}

HBBP_API size_t hbbp_feature_count(void) { return hbbp::kFeatureCount; }

HBBP_API const char* hbbp_feature_name(size_t index) {
  return index < hbbp::kFeatureCount ? hbbp::kFeatureNames[index].data() : nullptr;
}

HBBP_API hbbp_status hbbp_profile_copy_features(const hbbp_profile* profile, size_t first,
                                                size_t count, double* values, size_t* copied,
                                                hbbp_error* error) {
  return Guard(error, [&]() -> Status {
    constexpr char kFunction[] = "hbbp_profile_copy_features";
    if (profile == nullptr) return NullArgument(kFunction, "profile");
    if (values == nullptr) return NullArgument(kFunction, "values");
    if (copied == nullptr) return NullArgument(kFunction, "copied");
    HBBP_ASSIGN_OR_RETURN(const auto analysis, profile->Analyze());
    const std::vector<hbbp::BlockRecord>& blocks = analysis->blocks();
    first = std::min(first, blocks.size());
    *copied = std::min(count, blocks.size() - first);
    for (size_t i = 0; i < *copied; ++i) {
      const hbbp::BlockFeatures features = analysis->FeaturesOf(blocks[first + i]);
      values = std::copy(features.values.begin(), features.values.end(), values);
    }
    return OkStatus();
  });
}

}  // extern "C"
