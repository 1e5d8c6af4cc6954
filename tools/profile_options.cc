#include "profile_options.h"

namespace hbbp::tools {

void ProfileOptions::AddTo(Options* options) {
  estimator_.AddTo(options);
  kernel_.AddTo(options);
}

StatusOr<ProfileHandle> ProfileOptions::Load(const std::vector<std::string>& files) const {
  HBBP_ASSIGN_OR_RETURN(ProfileHandle profile, LoadProfiles(files));
  HBBP_RETURN_IF_ERROR(kernel_.Apply(profile.get()));
  HBBP_RETURN_IF_ERROR(estimator_.Apply(profile.get()));
  return profile;
}

}  // namespace hbbp::tools
