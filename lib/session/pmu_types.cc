#include "session/pmu_types.h"

#include <charconv>
#include <filesystem>
#include <system_error>

#include "base/files.h"

namespace hbbp {

std::vector<std::pair<uint32_t, std::string>> PmuTypes(const std::string& sysfs) {
  std::vector<std::pair<uint32_t, std::string>> types;
  std::error_code error;
  std::filesystem::directory_iterator pmu(sysfs, error);
  for (; !error && pmu != std::filesystem::directory_iterator(); pmu.increment(error)) {
    const StatusOr<std::string> text = ReadTextFile(pmu->path() / "type", 64);
    if (!text.ok()) continue;
    uint32_t type = 0;
    const auto parsed = std::from_chars(text->data(), text->data() + text->size(), type);
    if (parsed.ec == std::errc()) types.emplace_back(type, pmu->path().filename());
  }
  return types;
}

}  // namespace hbbp
