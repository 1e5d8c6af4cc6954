#include "capi/features.h"

namespace hbbp::capi {

std::span<const std::string_view> Features() {
  static constexpr std::string_view kFeatures[] = {
      "ebs", "lbr", "ibs", "swbt", "import", "analysis", "debug-information", "probes"};
  return kFeatures;
}

}  // namespace hbbp::capi
