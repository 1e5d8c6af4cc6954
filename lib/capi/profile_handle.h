// The profile behind the handle: its data, sums over it, and the files of its modules.
#ifndef HBBP_LIB_CAPI_PROFILE_HANDLE_H_
#define HBBP_LIB_CAPI_PROFILE_HANDLE_H_

#include <hbbp/profile.h>

#include <memory>

#include "analysis/resolved_modules.h"
#include "profile/profile_data.h"
#include "profile/sample_totals.h"

struct hbbp_profile {
 public:
  explicit hbbp_profile(hbbp::ProfileData data);
  // Makes the same profile, with other files of its kernel.
  hbbp_profile(const hbbp_profile& same, std::shared_ptr<const hbbp::ResolvedModules> modules)
      : totals_(same.totals_), modules_(std::move(modules)) {}

  const hbbp::ProfileData& data() const { return modules_->data(); }
  const hbbp::SampleTotals& totals() const { return *totals_; }
  // Analyses share these, so that each file is opened once.
  const std::shared_ptr<const hbbp::ResolvedModules>& modules() const { return modules_; }

 private:
  std::shared_ptr<const hbbp::SampleTotals> totals_;
  std::shared_ptr<const hbbp::ResolvedModules> modules_;
};

#endif  // HBBP_LIB_CAPI_PROFILE_HANDLE_H_
