// Defines the features of a basic block that decision trees can test.
//
// Counts of the two families of sources are on one scale, and divided by the mean count of the
// profile's blocks, so that a tree does not depend on how long a program ran.
#ifndef HBBP_LIB_ESTIMATE_BLOCK_FEATURES_H_
#define HBBP_LIB_ESTIMATE_BLOCK_FEATURES_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace hbbp {

// Trees contain the names; the order is that of hbbp_profile_copy_features.
enum class Feature : uint8_t {
  kLength,  // instructions
  kBytes,
  kBiased,        // 1: one of its branches is suspect (branch_bias.h), else 0
  kEbsCount,      // by IP samples
  kEbsError,      // its standard error
  kStreamsCount,  // by streams
  kStreamsError,
  kLongLatencyShare,  // of its instructions, like the next three; code_traits.h defines them
  kMemoryShare,
  kCallShare,
  kDivisionShare,
  kPreviousLength,  // of the block that ends at its start; 0 if there is none
  kNextLength,      // of the block that starts at its end
  kTakenRatio,      // share of the streams across its end that a taken branch ended there
  kCount
};

inline constexpr size_t kFeatureCount = static_cast<size_t>(Feature::kCount);

inline constexpr std::array<std::string_view, kFeatureCount> kFeatureNames = {
    "length",       "bytes",         "biased",         "ebs_count",
    "ebs_error",    "streams_count", "streams_error",  "long_latency_share",
    "memory_share", "call_share",    "division_share", "previous_length",
    "next_length",  "taken_ratio"};

constexpr std::optional<Feature> FeatureNamed(std::string_view name) {
  for (size_t i = 0; i < kFeatureCount; ++i) {
    if (kFeatureNames[i] == name) return static_cast<Feature>(i);
  }
  return std::nullopt;
}

struct BlockFeatures {
  std::array<double, kFeatureCount> values{};

  double& operator[](Feature feature) { return values[static_cast<size_t>(feature)]; }
  double operator[](Feature feature) const { return values[static_cast<size_t>(feature)]; }
};

}  // namespace hbbp

#endif  // HBBP_LIB_ESTIMATE_BLOCK_FEATURES_H_
