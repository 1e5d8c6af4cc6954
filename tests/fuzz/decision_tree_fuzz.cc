// Parses any bytes as a decision tree.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "estimate/decision_tree.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using hbbp::DecisionTree;
  const auto tree = DecisionTree::FromJson({reinterpret_cast<const char*>(data), size});
  if (!tree.ok()) {
    if (tree.status().message().empty()) std::abort();
    return 0;
  }
  hbbp::BlockFeatures features;
  for (size_t i = 0; i < hbbp::kFeatureCount; ++i) features.values[i] = static_cast<double>(i);
  const std::string json = tree->ToJson();
  const auto again = DecisionTree::FromJson(json);
  if (!again.ok() || again->ToJson() != json) std::abort();
  if (again->Choose(features) != tree->Choose(features)) std::abort();
  return 0;
}
