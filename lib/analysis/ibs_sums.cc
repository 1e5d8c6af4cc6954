#include "analysis/ibs_sums.h"

#include <algorithm>
#include <tuple>

namespace hbbp {
namespace {

auto KeyOf(const IbsSumRecord& record) {
  return std::tie(record.module, record.address, record.event);
}

}  // namespace

std::vector<IbsSumRecord> ListIbsSums(const ResolvedModules& modules,
                                      std::span<const FunctionRecord> functions) {
  const ProfileData& data = modules.data();
  std::vector<IbsSumRecord> all;
  all.reserve(data.ibs_counts.size());
  for (const IbsCount& count : data.ibs_counts) {
    const ModuleKind kind = data.modules[count.module].kind;
    const bool is_runtime = kind == ModuleKind::kKernel || kind == ModuleKind::kAnonymous;
    const ModuleAddress address =
        is_runtime ? ModuleAddress{count.offset} : FindAddress(modules, count.module, count.offset);
    const bool is_known = address != kNoAddress;
    all.push_back({count.module,
                   is_known ? FindFunction(functions, count.module, address) : kNoIndex, address,
                   count.event, count.sum});
  }
  std::sort(all.begin(), all.end(),
            [](const IbsSumRecord& a, const IbsSumRecord& b) { return KeyOf(a) < KeyOf(b); });
  std::vector<IbsSumRecord> sums;
  for (const IbsSumRecord& record : all) {
    if (!sums.empty() && KeyOf(sums.back()) == KeyOf(record)) {
      sums.back().sum += record.sum;
    } else {
      sums.push_back(record);
    }
  }
  return sums;
}

}  // namespace hbbp
