// The profile behind the handle: its data, what was set of it, and what is found once, by the first
// function that needs it.
#ifndef HBBP_LIB_CAPI_PROFILE_HANDLE_H_
#define HBBP_LIB_CAPI_PROFILE_HANDLE_H_

#include <hbbp/profile.h>

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <utility>

#include "analysis/analyze.h"
#include "analysis/line_table_cache.h"
#include "analysis/profile_loops.h"
#include "analysis/resolved_modules.h"
#include "base/status.h"
#include "base/work.h"
#include "capi/boundary.h"
#include "mix/pivot_subject.h"
#include "profile/profile_data.h"
#include "profile/sample_totals.h"

namespace hbbp::capi {

// A value that the first caller makes. The others wait for it, in whatever thread.
template <typename Value>
class MadeOnce {
 public:
  using Pointer = std::shared_ptr<const Value>;

  // `make` returns a StatusOr<Value>. What failed is made by the next caller.
  template <typename Make>
  StatusOr<Pointer> Get(Make&& make) {
    if (is_made_) return value_;
    std::lock_guard lock(mutex_);
    if (is_made_) return value_;
    HBBP_ASSIGN_OR_RETURN(Value made, make());
    value_ = std::make_shared<const Value>(std::move(made));
    is_made_ = true;
    return value_;
  }
  // Not while another thread uses this object.
  void Reset() {
    is_made_ = false;
    value_ = nullptr;
  }

 private:
  std::mutex mutex_;
  std::atomic<bool> is_made_{false};
  Pointer value_;  // unchanged while is_made_
};

}  // namespace hbbp::capi

// Const functions may be called from any thread, others not while another thread uses the profile.
struct hbbp_profile {
 public:
  explicit hbbp_profile(hbbp::ProfileData data);
  // Part of another profile, which is analysed as that is.
  hbbp_profile(hbbp::ProfileData data, const hbbp_profile& whole);

  const hbbp::ProfileData& data() const { return modules_->data(); }
  const hbbp::SampleTotals& totals() const { return totals_; }
  const hbbp::ResolvedModules& modules() const { return *modules_; }
  const hbbp::LineTableCache& lines() const { return *lines_; }

  // kInvalidState if code was sought before, and the errors of OpenKernelFilesFor.
  hbbp::Status SetKernelFiles(const hbbp::KernelFilePaths& paths);
  // Lines that were found before are gone.
  void SetSourceOptions(hbbp::DebugInfoOptions options);
  // The analysis, and what lists of it point to, is gone.
  void SetEstimator(hbbp::EstimatorOptions options);

  // As long as nothing is set. Errors: those of hbbp::Analyze, and WorkCancelled is not thrown.
  hbbp::StatusOr<std::shared_ptr<const hbbp::Analysis>> Analyze(
      const hbbp::Work& work = hbbp::Work()) const;
  hbbp::StatusOr<std::shared_ptr<const hbbp::ProfileLoops>> FindLoops() const;
  // The analysis with what a query needs. It lives as long as the analysis.
  hbbp::StatusOr<hbbp::PivotSubject> SubjectFor(const hbbp::QueryNeeds& needs) const;

 private:
  hbbp::StatusOr<std::shared_ptr<const hbbp::InstructionTable>> DescribeCode() const;

  const hbbp::SampleTotals totals_;
  std::shared_ptr<const hbbp::ResolvedModules> modules_;
  hbbp::EstimatorOptions estimator_;
  std::unique_ptr<const hbbp::LineTableCache> lines_;
  mutable hbbp::capi::MadeOnce<hbbp::Analysis> analysis_;
  mutable hbbp::capi::MadeOnce<hbbp::ProfileLoops> loops_;
  mutable hbbp::capi::MadeOnce<hbbp::InstructionTable> code_;
};

namespace hbbp::capi {

// The length of a list of the analysis. 0 without a profile, and where there is no analysis.
template <typename Count>
size_t CountInAnalysis(const hbbp_profile* profile, Count&& count) {
  if (profile == nullptr) return 0;
  return GuardCount([&]() -> size_t {
    const auto analysis = profile->Analyze();
    return analysis.ok() ? count(**analysis) : 0;
  });
}

}  // namespace hbbp::capi

#endif  // HBBP_LIB_CAPI_PROFILE_HANDLE_H_
