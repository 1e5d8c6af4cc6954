#include "analysis/taken_branches.h"

#include <algorithm>
#include <tuple>

#include "estimate/model_error.h"

namespace hbbp {
namespace {

auto KeyOf(const TakenBranchRecord& record) {
  return std::tie(record.from_module, record.from, record.to_module, record.to);
}

}  // namespace

ModuleAddress FindAddress(const ResolvedModules& modules, uint32_t module, uint64_t offset) {
  if (module == kNoModule) return kNoAddress;
  const ResolvedModules::Use use = modules.Open(module);
  if (use->code == nullptr) return kNoAddress;
  return use->AddressOf(offset).value_or(kNoAddress);
}

std::vector<TakenBranchRecord> ListTakenBranches(const ResolvedModules& modules,
                                                 double streams_scale) {
  static_assert(kNoModule == kNoIndex);
  std::vector<TakenBranchRecord> all;
  all.reserve(modules.data().branches.size());
  for (const BranchCount& branch : modules.data().branches) {
    TakenBranchRecord record;
    record.from_module = branch.from_module;
    record.to_module = branch.to_module;
    record.from = FindAddress(modules, branch.from_module, branch.from);
    record.to = FindAddress(modules, branch.to_module, branch.to);
    record.observed = branch.number;
    record.count = branch.weights * streams_scale;
    record.replicates.Add(ModeledReplicates(modules.data(), branch), streams_scale);
    record.bias = {branch.oldest, branch.oldest_expected};
    all.push_back(record);
  }
  std::sort(all.begin(), all.end(), [](const TakenBranchRecord& a, const TakenBranchRecord& b) {
    return KeyOf(a) < KeyOf(b);
  });
  std::vector<TakenBranchRecord> branches;
  for (const TakenBranchRecord& record : all) {
    if (branches.empty() || KeyOf(branches.back()) != KeyOf(record)) {
      branches.push_back(record);
      continue;
    }
    branches.back().observed += record.observed;
    branches.back().count += record.count;
    branches.back().replicates.Add(record.replicates);
    branches.back().bias.Add(record.bias);
  }
  return branches;
}

}  // namespace hbbp
