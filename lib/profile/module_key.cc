#include "profile/module_key.h"

#include <algorithm>

#include "base/random_bits.h"

namespace hbbp {

uint64_t ProcessKey(const ProfileData& profile) {
  const uint64_t mixed = RandomBits(profile.start_time_ns ^ profile.pid).Next();
  return std::max(RandomBits(mixed).Next(), uint64_t{1});
}

uint64_t GeneratingProcess(const ProfileData& profile, const ModuleRecord& module) {
  const bool is_of_profile = module.kind == ModuleKind::kAnonymous && module.process == 0;
  return is_of_profile ? ProcessKey(profile) : module.process;
}

std::string ModuleKey(const ModuleRecord& module, uint64_t process) {
  const bool is_file = module.kind == ModuleKind::kFile;
  size_t id_size = module.build_id.size();
  while (id_size > 0 && module.build_id[id_size - 1] == 0) --id_size;
  const uint64_t numbers[] = {static_cast<uint64_t>(module.kind),
                              id_size,
                              process,
                              module.kernel.reference_address,
                              is_file && id_size == 0 ? module.device : 0,
                              is_file && id_size == 0 ? module.inode : 0};
  std::string key(reinterpret_cast<const char*>(numbers), sizeof(numbers));
  key.append(reinterpret_cast<const char*>(module.build_id.data()), id_size);
  if (!is_file || id_size == 0) key += module.path;
  return key += module.kernel.boot_id;
}

}  // namespace hbbp
