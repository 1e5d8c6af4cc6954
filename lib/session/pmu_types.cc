#include "session/pmu_types.h"

#include <fcntl.h>

#include <charconv>
#include <system_error>

#include "base/directory.h"
#include "base/files.h"
#include "base/unique_fd.h"

namespace hbbp {

std::vector<std::pair<uint32_t, std::string>> PmuTypes(const std::string& sysfs) {
  std::vector<std::pair<uint32_t, std::string>> types;
  const UniqueFd directory(::open(sysfs.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory.valid()) return types;
  (void)ForEachName(directory.get(), [&](const std::string& name) {
    if (name == "." || name == "..") return true;
    const StatusOr<std::string> text = ReadTextFile(sysfs + "/" + name + "/type", 64);
    if (!text.ok()) return true;
    uint64_t type = 0;
    const auto parsed = std::from_chars(text->data(), text->data() + text->size(), type);
    if (parsed.ec == std::errc()) types.emplace_back(static_cast<uint32_t>(type), name);
    return true;
  });
  return types;
}

}  // namespace hbbp
