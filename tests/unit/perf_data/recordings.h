// Recordings from real hardware, which are not part of the project.
#ifndef HBBP_TESTS_UNIT_PERF_DATA_RECORDINGS_H_
#define HBBP_TESTS_UNIT_PERF_DATA_RECORDINGS_H_

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>

namespace hbbp {

inline std::optional<std::string> RecordingPath(const std::string& name) {
  const char* root = std::getenv("HBBP_TEST_DATA");
  if (root == nullptr) return std::nullopt;
  std::string path = std::string(root) + "/" + name;
  if (!std::filesystem::exists(path)) return std::nullopt;
  return path;
}

}  // namespace hbbp

#endif  // HBBP_TESTS_UNIT_PERF_DATA_RECORDINGS_H_
