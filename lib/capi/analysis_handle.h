// The analysis behind the handle, and what is made of it when it is first needed: loops, samples by
// instruction, what queries have to know of instructions, and names of functions without mangling.
#ifndef HBBP_LIB_CAPI_ANALYSIS_HANDLE_H_
#define HBBP_LIB_CAPI_ANALYSIS_HANDLE_H_

#include <hbbp/analysis.h>

#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analysis/analyze.h"
#include "analysis/ip_sums.h"
#include "analysis/line_table_cache.h"
#include "analysis/profile_loops.h"
#include "base/status.h"
#include "base/work.h"
#include "capi/profile_handle.h"
#include "mix/pivot_subject.h"

namespace hbbp::capi {

// A value that the first caller makes. The others wait for it, in whatever thread.
template <typename Value>
class MadeOnce {
 public:
  // `make` returns a StatusOr<Value>. What failed is made by the next caller.
  template <typename Make>
  StatusOr<std::shared_ptr<const Value>> Get(Make&& make) {
    std::lock_guard lock(mutex_);
    if (value_ != nullptr) return value_;
    HBBP_ASSIGN_OR_RETURN(Value made, make());
    value_ = std::make_shared<const Value>(std::move(made));
    return value_;
  }

 private:
  std::mutex mutex_;
  std::shared_ptr<const Value> value_;
};

// Names of functions as their languages spell them, which are made when they are first asked for.
class DemangledNames {
 public:
  // Returns `name` itself if it is not mangled. `index` is that of its function.
  const char* Get(size_t index, const std::string& name);

 private:
  std::mutex mutex_;
  std::unordered_map<size_t, std::string> names_;  // without those that are not mangled
};

// Reads hbbp_debug_options, which may be NULL.
StatusOr<DebugInfoOptions> ReadDebugOptions(const hbbp_debug_options* given);

}  // namespace hbbp::capi

// Const functions may be called by any thread.
struct hbbp_analysis {
 public:
  hbbp_analysis(hbbp_profile profile, hbbp::Analysis analysis,
                hbbp::DebugInfoOptions debug_options);

  const hbbp_profile& profile() const { return profile_; }
  const hbbp::ProfileData& data() const { return profile_.data(); }
  const hbbp::ResolvedModules& modules() const { return *profile_.modules(); }
  const hbbp::Analysis& analysis() const { return analysis_; }
  const hbbp::LineTableCache& lines() const { return lines_; }
  // Lives as long as the analysis.
  const char* DemangledNameOf(size_t function) const {
    return demangled_names_.Get(function, analysis_.functions()[function].name);
  }

  hbbp::StatusOr<std::shared_ptr<const hbbp::ProfileLoops>> FindLoops(const hbbp::Work& work) const;
  hbbp::StatusOr<std::shared_ptr<const std::vector<hbbp::IpSumRecord>>> IpSums() const;
  // Returns the analysis with what a query needs. It lives as long as the analysis.
  hbbp::StatusOr<hbbp::PivotSubject> SubjectFor(const hbbp::QueryNeeds& needs,
                                                const hbbp::Work& work) const;

 private:
  hbbp::StatusOr<std::shared_ptr<const hbbp::InstructionTable>> GetInstructions(
      const hbbp::Work& work) const;

  const hbbp_profile profile_;
  const hbbp::Analysis analysis_;
  const hbbp::LineTableCache lines_;
  mutable hbbp::capi::MadeOnce<hbbp::ProfileLoops> loops_;
  mutable hbbp::capi::MadeOnce<std::vector<hbbp::IpSumRecord>> ip_sums_;
  mutable hbbp::capi::MadeOnce<hbbp::InstructionTable> code_;
  mutable hbbp::capi::DemangledNames demangled_names_;
};

#endif  // HBBP_LIB_CAPI_ANALYSIS_HANDLE_H_
