#include "record/unprofiled.h"

#include <charconv>
#include <filesystem>
#include <map>
#include <set>
#include <system_error>

#include "base/files.h"
#include "preload/exec_target.h"
#include "preload/options.h"

namespace hbbp::tools {

using preload::ExecTarget;

std::string DescribeUnprofiled(std::string_view lines) {
  constexpr size_t kShownNames = 3;
  std::map<ExecTarget, std::set<std::string_view>> names;
  while (!lines.empty()) {
    const size_t end = lines.find('\n');
    const std::string_view line = lines.substr(0, end);
    lines = end == std::string_view::npos ? "" : lines.substr(end + 1);
    int target = 0;
    const auto number = std::from_chars(line.data(), line.data() + line.size(), target);
    if (number.ec != std::errc()) continue;
    const std::string_view name = line.substr(line.find_last_of(" /") + 1);
    const auto known = static_cast<ExecTarget>(target);
    if (*preload::Describe(known) != '\0') names[known].insert(name.empty() ? "a file" : name);
  }
  std::string text;
  for (const auto& [target, of_target] : names) {
    text += text.empty() ? "not profiled: " : "; ";
    size_t shown = 0;
    for (const std::string_view name : of_target) {
      if (++shown > kShownNames) break;
      text.append(shown > 1 ? ", " : "").append(name);
    }
    if (of_target.size() > kShownNames) {
      text += " and " + std::to_string(of_target.size() - kShownNames) + " more";
    }
    text.append(" (").append(preload::Describe(target)).append(")");
  }
  return text.empty() ? text : text + ", and what these start; --outside --children observes them";
}

// The program may have made a link or a pipe there, for this process to open it.
std::string ReadUnprofiled(const std::string& directory) {
  const std::string path = directory + "/" + preload::kUnprofiledFile;
  std::error_code error;
  const auto status = std::filesystem::symlink_status(path, error);
  if (status.type() != std::filesystem::file_type::regular) return "";
  StatusOr<std::string> text = ReadTextFile(path, 2 * preload::kMaxUnprofiledBytes);
  return text.ok() ? *std::move(text) : "";
}

}  // namespace hbbp::tools
