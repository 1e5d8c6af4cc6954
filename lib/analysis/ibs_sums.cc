#include "analysis/ibs_sums.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace hbbp {
namespace {

auto KeyOf(const IbsSumRecord& record) {
  return std::tie(record.module, record.address, record.event);
}

auto KeyOf(const IbsLatencyRecord& record) {
  return std::tie(record.module, record.address, record.level, record.bucket);
}

void AddTo(IbsSumRecord* sum, const IbsSumRecord& more) { sum->sum += more.sum; }
void AddTo(IbsLatencyRecord* sum, const IbsLatencyRecord& more) { sum->samples += more.samples; }

// Sets the function and address of what was counted at an offset of a module.
template <typename Record>
void Locate(const ResolvedModules& modules, std::span<const FunctionRecord> functions,
            uint64_t offset, Record* record) {
  const ModuleKind kind = modules.data().modules[record->module].kind;
  const bool is_runtime = kind == ModuleKind::kKernel || kind == ModuleKind::kAnonymous;
  record->address =
      is_runtime ? ModuleAddress{offset} : FindAddress(modules, record->module, offset);
  if (record->address != kNoAddress) {
    record->function = FindFunction(functions, record->module, record->address);
  }
}

template <typename Record>
std::vector<Record> AddUp(std::vector<Record> all) {
  std::sort(all.begin(), all.end(),
            [](const Record& a, const Record& b) { return KeyOf(a) < KeyOf(b); });
  std::vector<Record> sums;
  for (const Record& record : all) {
    if (!sums.empty() && KeyOf(sums.back()) == KeyOf(record)) {
      AddTo(&sums.back(), record);
    } else {
      sums.push_back(record);
    }
  }
  return sums;
}

}  // namespace

std::vector<IbsSumRecord> ListIbsSums(const ResolvedModules& modules,
                                      std::span<const FunctionRecord> functions) {
  std::vector<IbsSumRecord> all;
  all.reserve(modules.data().ibs_counts.size());
  for (const IbsCount& count : modules.data().ibs_counts) {
    IbsSumRecord& record = all.emplace_back();
    record.module = count.module;
    record.event = count.name;
    record.sum = count.sum;
    Locate(modules, functions, count.offset, &record);
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
    Locate(modules, functions, bucket.offset, &record);
  }
  return AddUp(std::move(all));
}

}  // namespace hbbp
