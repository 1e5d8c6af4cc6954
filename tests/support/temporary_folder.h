// TemporaryFolder creates a directory that it removes when it is destroyed, and runs commands to
// fill it.
#ifndef HBBP_TESTS_SUPPORT_TEMPORARY_FOLDER_H_
#define HBBP_TESTS_SUPPORT_TEMPORARY_FOLDER_H_

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

namespace hbbp {

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "hbbp-XXXXXX").string();
    if (mkdtemp(pattern.data()) != nullptr) path_ = pattern;
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }

  std::string File(const std::string& name) const { return path_ + "/" + name; }

  std::string Write(const std::string& name, const std::string& text) const {
    std::ofstream(File(name)) << text;
    return File(name);
  }

 private:
  std::string path_;
};

// Returns true if the shell command succeeds; its output is discarded.
inline bool RunCommand(const std::string& command) {
  return std::system(("( " + command + " ) >/dev/null 2>&1").c_str()) == 0;
}

inline bool HasProgram(const std::string& name) { return RunCommand("command -v " + name); }

}  // namespace hbbp

#endif  // HBBP_TESTS_SUPPORT_TEMPORARY_FOLDER_H_
