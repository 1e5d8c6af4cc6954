#include "capi/file_finder.h"

namespace hbbp::capi {

std::function<void(ProfileData*, CancelCheck*)> FileFinder(const ImportOptions&) { return {}; }

}  // namespace hbbp::capi
