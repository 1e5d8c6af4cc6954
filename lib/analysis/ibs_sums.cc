#include "analysis/ibs_sums.h"

#include <utility>

#include "analysis/located_sums.h"

namespace hbbp {
std::vector<IbsSumRecord> ListIbsSums(const ResolvedModules& modules,
                                      std::span<const FunctionRecord> functions) {
  std::vector<IbsSumRecord> all;
  all.reserve(modules.data().ibs_counts.size());
  for (const IbsCount& count : modules.data().ibs_counts) {
    IbsSumRecord& record = all.emplace_back();
    record.module = count.module;
    record.event = count.name;
    record.sum = count.sum;
    SetAddress(modules, count.offset, &record);
    SetFunction(functions, &record);
  }
  return AddUp(std::move(all));
}

std::vector<IbsLatencyRecord> ListIbsLatencies(const ResolvedModules& modules,
                                               std::span<const FunctionRecord> functions) {
  std::vector<IbsLatencyRecord> all;
  for (const IbsCount& bucket : modules.data().ibs_buckets) {
    if (bucket.module == kNoModule) continue;
    IbsLatencyRecord& record = all.emplace_back();
    record.module = bucket.module;
    record.level = bucket.level;
    record.bucket = bucket.bucket;
    record.samples = bucket.sum;
    SetAddress(modules, bucket.offset, &record);
    SetFunction(functions, &record);
  }
  return AddUp(std::move(all));
}

}  // namespace hbbp
