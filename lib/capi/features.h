// The names of what is in the library that this is linked into, as hbbp_feature knows them.
#ifndef HBBP_LIB_CAPI_FEATURES_H_
#define HBBP_LIB_CAPI_FEATURES_H_

#include <span>
#include <string_view>

namespace hbbp::capi {

std::span<const std::string_view> Features();

}  // namespace hbbp::capi

#endif  // HBBP_LIB_CAPI_FEATURES_H_
