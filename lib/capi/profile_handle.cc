#include "capi/profile_handle.h"

#include <numeric>
#include <utility>

#include "capi/profile_access.h"

using hbbp::Analysis;
using hbbp::BlockRecord;
using hbbp::DebugInfoOptions;
using hbbp::InstructionTable;
using hbbp::KernelFiles;
using hbbp::LineTableCache;
using hbbp::OkStatus;
using hbbp::PivotSubject;
using hbbp::ProfileData;
using hbbp::ProfileLoops;
using hbbp::ResolvedModules;
using hbbp::Status;
using hbbp::StatusOr;

namespace {

// More instructions than this are described for each query anew: they take 32 MiB, and some for
// kinds.
constexpr size_t kMaxKeptInstructions = 4 << 20;

std::shared_ptr<const ResolvedModules> ModulesOf(ProfileData data, KernelFiles kernel_files) {
  return std::make_shared<const ResolvedModules>(
      std::make_shared<const ProfileData>(std::move(data)), std::move(kernel_files));
}

}  // namespace

hbbp_profile::hbbp_profile(ProfileData data)
    : totals_(CountSamples(data)),
      modules_(ModulesOf(std::move(data), {})),
      lines_(std::make_unique<LineTableCache>(modules_)) {}

hbbp_profile::hbbp_profile(ProfileData data, const hbbp_profile& whole)
    : totals_(CountSamples(data)),
      modules_(ModulesOf(std::move(data), whole.modules_->kernel_files())),
      estimator_(whole.estimator_),
      lines_(std::make_unique<LineTableCache>(modules_, WithoutHost(whole.lines_->options()))) {}

Status hbbp_profile::SetKernelFiles(const hbbp::KernelFilePaths& paths) {
  if (modules_->HasOpened()) {
    return MakeStatus(hbbp::StatusCode::kInvalidState,
                      "the code of this profile was sought before; name the files first");
  }
  HBBP_ASSIGN_OR_RETURN(KernelFiles files, OpenKernelFilesFor(data(), paths));
  modules_ = std::make_shared<const ResolvedModules>(modules_->shared_data(), std::move(files));
  lines_ = std::make_unique<LineTableCache>(modules_, lines_->options());
  return OkStatus();
}

void hbbp_profile::SetSourceOptions(DebugInfoOptions options) {
  lines_ = std::make_unique<LineTableCache>(modules_, std::move(options));
}

void hbbp_profile::SetEstimator(hbbp::EstimatorOptions options) {
  estimator_ = std::move(options);
  code_.Reset();
  loops_.Reset();
  analysis_.Reset();
}

StatusOr<std::shared_ptr<const Analysis>> hbbp_profile::Analyze(const hbbp::Work& work) const {
  return analysis_.Get([&] { return hbbp::Analyze(modules_, estimator_, work); });
}

StatusOr<std::shared_ptr<const ProfileLoops>> hbbp_profile::FindLoops() const {
  return loops_.Get([&]() -> StatusOr<ProfileLoops> {
    HBBP_ASSIGN_OR_RETURN(const auto analysis, Analyze());
    return FindProfileLoops(*analysis);
  });
}

StatusOr<std::shared_ptr<const InstructionTable>> hbbp_profile::DescribeCode() const {
  HBBP_ASSIGN_OR_RETURN(const auto analysis, Analyze());
  const std::vector<BlockRecord>& blocks = analysis->blocks();
  const size_t instructions = std::accumulate(
      blocks.begin(), blocks.end(), size_t{0},
      [](size_t sum, const BlockRecord& record) { return sum + record.block.instruction_count; });
  const auto describe = [&]() -> StatusOr<InstructionTable> {
    return hbbp::MakeInstructionTable(*analysis);
  };
  if (instructions <= kMaxKeptInstructions) return code_.Get(describe);
  return std::make_shared<const InstructionTable>(*describe());
}

StatusOr<PivotSubject> hbbp_profile::SubjectFor(const hbbp::QueryNeeds& needs) const {
  HBBP_ASSIGN_OR_RETURN(const auto analysis, Analyze());
  PivotSubject subject(*analysis);
  if (needs.instructions) {
    HBBP_ASSIGN_OR_RETURN(subject.code, DescribeCode());
  }
  if (needs.loops) {
    HBBP_ASSIGN_OR_RETURN(subject.loops, FindLoops());
  }
  if (needs.lines) subject.lines = lines_.get();
  return subject;
}

namespace hbbp::capi {

hbbp_profile* NewProfile(ProfileData data) { return new hbbp_profile(std::move(data)); }

const ProfileData& DataOf(const hbbp_profile& profile) { return profile.data(); }

ProfileData DataToStore(const hbbp_profile& profile) { return profile.modules().DataToStore(); }

}  // namespace hbbp::capi

extern "C" HBBP_API void hbbp_profile_destroy(hbbp_profile* profile) { delete profile; }
