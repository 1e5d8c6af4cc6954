#include "collect/perf_config.h"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "base/files.h"
#include "base/status.h"

namespace hbbp {
namespace {

constexpr uint64_t kMaxConfigBytes = 1 << 20;
constexpr std::string_view kBlanks = " \t\r";

std::string_view Trimmed(std::string_view text) {
  const size_t start = text.find_first_not_of(kBlanks);
  if (start == std::string_view::npos) return {};
  return text.substr(start, text.find_last_not_of(kBlanks) - start + 1);
}

std::string LowerCase(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower;
}

// Removes a comment, and the quotes and escapes of a value.
std::string PlainValue(std::string_view text) {
  std::string value;
  size_t kept = 0;  // blanks at the end stay only in quotes
  bool is_quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"') {
      is_quoted = !is_quoted;
    } else if (!is_quoted && (c == '#' || c == ';')) {
      break;
    } else {
      const bool is_escape = c == '\\' && i + 1 < text.size();
      value += is_escape ? text[++i] : c;
    }
    if (is_quoted || kBlanks.find(c) == std::string_view::npos) kept = value.size();
  }
  value.resize(kept);
  return value;
}

// Returns the absolute path in $HOME, or an empty one.
std::string PathAtHome(const std::string& name) {
  const char* const home = std::getenv("HOME");
  return home == nullptr || *home != '/' ? "" : std::string(home) + "/" + name;
}

std::vector<std::string> ConfigFiles() {
  const char* const only = std::getenv("PERF_CONFIG");
  if (only != nullptr && *only != '\0') return {only};
  const std::string own = PathAtHome(".perfconfig");
  if (own.empty()) return {"/etc/perfconfig"};
  return {"/etc/perfconfig", own};
}

}  // namespace

std::optional<std::string> FindPerfSetting(std::string_view text, std::string_view section,
                                           std::string_view name) {
  std::optional<std::string> found;
  bool is_in_section = false;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = Trimmed(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.starts_with('[')) {
      const size_t close = std::min(line.find(']'), line.size());
      is_in_section = LowerCase(Trimmed(line.substr(1, close - 1))) == section;
      line = Trimmed(line.substr(std::min(close + 1, line.size())));
    }
    const size_t equals = line.find('=');
    if (!is_in_section || equals == std::string_view::npos) continue;
    if (LowerCase(Trimmed(line.substr(0, equals))) != name) continue;
    found = PlainValue(Trimmed(line.substr(equals + 1)));
  }
  return found;
}

std::string PerfBuildIdDirectory() {
  std::string directory = PathAtHome(".debug");
  for (const std::string& file : ConfigFiles()) {
    const StatusOr<std::string> text = ReadOwnTextFile(file, kMaxConfigBytes);
    if (!text.ok()) continue;
    const std::optional<std::string> set = FindPerfSetting(*text, "buildid", "dir");
    if (!set || set->empty()) continue;
    directory = set->starts_with("~/") ? PathAtHome(set->substr(2)) : AbsolutePath(*set);
  }
  return directory;
}

}  // namespace hbbp
