#include "probes/burst_modules.h"

#include "profile/module_key.h"

namespace hbbp {

void BurstModules::Use(const std::shared_ptr<const ResolvedModules>& modules) {
  const ProfileData& data = modules->data();
  std::map<std::string, uint32_t> occurrences;
  numbers_.clear();
  for (uint32_t index = 0; index < data.modules.size(); ++index) {
    const ModuleRecord& module = data.modules[index];
    std::string key = ModuleKey(module, GeneratingProcess(data, module));
    const uint32_t before = occurrences[key]++;
    const auto [found, is_new] = known_.try_emplace({std::move(key), before}, size());
    if (is_new) locations_.emplace_back();
    locations_[found->second] = {modules, index};
    numbers_.push_back(found->second);
  }
}

}  // namespace hbbp
