// Who searches files that are not at their paths: libhbbp does it for each snapshot of a feed,
// libhbbp-collect leaves it to the analysis of the profile.
#ifndef HBBP_LIB_CAPI_FILE_FINDER_H_
#define HBBP_LIB_CAPI_FILE_FINDER_H_

#include <functional>

#include "base/work.h"
#include "collect/import_options.h"
#include "profile/profile_data.h"

namespace hbbp::capi {

// Returns FeedOptions::find_files.
std::function<void(ProfileData*, CancelCheck*)> FileFinder(const ImportOptions& files);

}  // namespace hbbp::capi

#endif  // HBBP_LIB_CAPI_FILE_FINDER_H_
