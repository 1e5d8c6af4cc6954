#include "capi/analysis_handle.h"

#include <numeric>

#include "analysis/instruction_table.h"
#include "symbols/demangle.h"

using hbbp::BlockRecord;
using hbbp::InstructionTable;
using hbbp::IpSumRecord;
using hbbp::PivotSubject;
using hbbp::ProfileLoops;
using hbbp::StatusOr;
using hbbp::Work;

namespace {

// More instructions than this are described for each query anew: they take 32 MiB, and some for
// kinds.
constexpr size_t kMaxKeptInstructions = 4 << 20;

}  // namespace

namespace hbbp::capi {

const char* DemangledNames::Get(size_t index, const std::string& name) {
  if (!name.starts_with("_Z") && !name.starts_with("_R")) return name.c_str();
  std::lock_guard lock(mutex_);
  const auto [position, is_new] = names_.try_emplace(index);
  if (is_new) position->second = Demangle(name);
  return position->second.c_str();
}

}  // namespace hbbp::capi

hbbp_analysis::hbbp_analysis(hbbp_profile profile, hbbp::Analysis analysis,
                             hbbp::DebugInfoOptions debug_options)
    : profile_(std::move(profile)),
      analysis_(std::move(analysis)),
      lines_(profile_.modules(), std::move(debug_options)) {}

StatusOr<std::shared_ptr<const ProfileLoops>> hbbp_analysis::FindLoops(const Work& work) const {
  return loops_.Get([&]() -> StatusOr<ProfileLoops> { return FindProfileLoops(analysis_, work); });
}

StatusOr<std::shared_ptr<const std::vector<IpSumRecord>>> hbbp_analysis::IpSums() const {
  return ip_sums_.Get(
      [&]() -> StatusOr<std::vector<IpSumRecord>> { return hbbp::ListIpSums(data(), analysis_); });
}

StatusOr<std::shared_ptr<const InstructionTable>> hbbp_analysis::GetInstructions(
    const Work& work) const {
  const std::vector<BlockRecord>& blocks = analysis_.blocks();
  const size_t instructions = std::accumulate(
      blocks.begin(), blocks.end(), size_t{0},
      [](size_t sum, const BlockRecord& record) { return sum + record.block.instruction_count; });
  const auto describe = [&]() -> StatusOr<InstructionTable> {
    return hbbp::MakeInstructionTable(analysis_, work);
  };
  if (instructions <= kMaxKeptInstructions) return code_.Get(describe);
  HBBP_ASSIGN_OR_RETURN(InstructionTable code, describe());
  return std::make_shared<const InstructionTable>(std::move(code));
}

StatusOr<PivotSubject> hbbp_analysis::SubjectFor(const hbbp::QueryNeeds& needs,
                                                 const Work& work) const {
  HBBP_RETURN_IF_ERROR(work.Check());
  PivotSubject subject(analysis_);
  subject.work = work;
  if (needs.instructions) {
    HBBP_ASSIGN_OR_RETURN(subject.code, GetInstructions(work));
  }
  if (needs.loops) {
    HBBP_ASSIGN_OR_RETURN(subject.loops, FindLoops(work));
  }
  if (needs.lines) subject.lines = &lines_;
  return subject;
}
