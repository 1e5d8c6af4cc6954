#include "annotate/source_text.h"

#include <sys/stat.h>

#include <utility>

#include "base/files.h"
#include "base/status.h"
#include "format.h"

namespace hbbp::tools {
namespace {

constexpr uint64_t kMaxFileBytes = 64 << 20;

// A name in DWARF may refer to a device or a FIFO.
bool IsRegularFile(const std::string& path) {
  struct stat status;
  return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

}  // namespace

const std::vector<std::string>& SourceText::Lines(const std::string& file) {
  const auto [known, is_new] = files_.try_emplace(file);
  if (!is_new) return known->second;
  StatusOr<std::string> text =
      IsRegularFile(file) ? ReadTextFile(file, kMaxFileBytes)
                          : StatusOr<std::string>(MakeStatus(StatusCode::kNotFound, "no file"));
  if (!text.ok()) {
    missing_.push_back(file);
    return known->second;
  }
  std::string_view rest = *text;
  while (!rest.empty()) {
    const size_t end = rest.find('\n');
    known->second.push_back(Printable(rest.substr(0, end)));
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  }
  return known->second;
}

std::string SourceText::Line(const std::string& file, uint32_t line) {
  if (file.empty() || line == 0) return {};
  const std::vector<std::string>& lines = Lines(file);
  return line <= lines.size() ? lines[line - 1] : std::string();
}

}  // namespace hbbp::tools
