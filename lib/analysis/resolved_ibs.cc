// The part of ResolvedProfile that is about IBS.
#include <algorithm>
#include <tuple>
#include <vector>

#include "analysis/resolved_profile.h"
#include "isa/uop_estimate.h"

namespace hbbp {

namespace {

auto KeyOf(const IbsSumRecord& record) {
  return std::tie(record.module, record.address, record.event);
}

}  // namespace

void ResolvedProfile::ResolveIbs() const {
  std::vector<IbsSumRecord> all;
  all.reserve(data_.ibs_counts.size());
  for (const IbsCount& count : data_.ibs_counts) {
    const ModuleKind kind = data_.modules[count.module].kind;
    const bool is_runtime = kind == ModuleKind::kKernel || kind == ModuleKind::kAnonymous;
    const ModuleAddress address =
        is_runtime ? ModuleAddress{count.offset} : AddressIn(count.module, count.offset);
    const bool is_known = address != kNoAddress;
    all.push_back({count.module, is_known ? FunctionAround(count.module, address) : kNoIndex,
                   address, count.event, count.sum});
  }
  std::sort(all.begin(), all.end(),
            [](const IbsSumRecord& a, const IbsSumRecord& b) { return KeyOf(a) < KeyOf(b); });
  for (const IbsSumRecord& record : all) {
    if (!ibs_sums_.empty() && KeyOf(ibs_sums_.back()) == KeyOf(record)) {
      ibs_sums_.back().sum += record.sum;
    } else {
      ibs_sums_.push_back(record);
    }
  }
}

double ResolvedProfile::InstructionsPerUop(uint32_t module, const Block& block) const {
  const ModuleCode& code = *modules_[module]->resolved.code;
  return block.instruction_count / EstimateUops(code.CodeAt(block.start, block.end - block.start));
}

}  // namespace hbbp
