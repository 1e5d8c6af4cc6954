#include "session/pmu_types.h"

#include <dirent.h>

#include <charconv>
#include <memory>
#include <system_error>

#include "base/files.h"

namespace hbbp {

std::vector<std::pair<uint32_t, std::string>> PmuTypes(const std::string& sysfs) {
  std::vector<std::pair<uint32_t, std::string>> types;
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(::opendir(sysfs.c_str()), ::closedir);
  if (directory == nullptr) return types;
  while (const dirent* pmu = ::readdir(directory.get())) {
    const std::string name = pmu->d_name;
    if (name == "." || name == "..") continue;
    const StatusOr<std::string> text = ReadTextFile(sysfs + "/" + name + "/type", 64);
    if (!text.ok()) continue;
    uint32_t type = 0;
    const auto parsed = std::from_chars(text->data(), text->data() + text->size(), type);
    if (parsed.ec == std::errc()) types.emplace_back(type, name);
  }
  return types;
}

}  // namespace hbbp
