#include <hbbp/version.h>

#include <algorithm>
#include <string_view>

#include "capi/features.h"

extern "C" {

HBBP_API const char* hbbp_version_string(void) { return HBBP_VERSION_STRING; }

HBBP_API uint32_t hbbp_version_number(void) {
  return HBBP_VERSION_MAJOR * 1'000'000 + HBBP_VERSION_MINOR * 1'000 + HBBP_VERSION_PATCH;
}

HBBP_API uint32_t hbbp_abi_version(void) { return HBBP_ABI_VERSION; }

HBBP_API int32_t hbbp_feature(const char* name) {
  if (name == nullptr) return 0;
  const auto features = hbbp::capi::Features();
  return std::find(features.begin(), features.end(), std::string_view(name)) != features.end();
}

}  // extern "C"
