#include "image/process_maps.h"

#include <algorithm>
#include <charconv>
#include <system_error>

#include "base/files.h"
#include "base/linux_constants.h"
#include "base/proc_path.h"

namespace hbbp {
namespace {

// This is far above the 65530 mappings that vm.max_map_count allows by default.
constexpr uint64_t kMaxMapsBytes = 1ull << 30;

// Parses one line of maps: "start-end perms offset major:minor inode path".
class LineParser {
 public:
  explicit LineParser(std::string_view line) : rest_(line) {}

  bool Number(int base, uint64_t* value) {
    auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), *value, base);
    if (error != std::errc()) return false;
    rest_.remove_prefix(static_cast<size_t>(end - rest_.data()));
    return true;
  }

  bool Number32(int base, uint32_t* value) {
    uint64_t wide = 0;
    if (!Number(base, &wide) || wide > UINT32_MAX) return false;
    *value = static_cast<uint32_t>(wide);
    return true;
  }

  bool Character(char expected) {
    if (rest_.empty() || rest_.front() != expected) return false;
    rest_.remove_prefix(1);
    return true;
  }

  // Reads one permission: `set`, or `clear` if it is not granted.
  bool Permission(char set, char clear, bool* value) {
    *value = Character(set);
    return *value || Character(clear);
  }

  // Returns the rest of the line after the padding.
  std::string_view Path() {
    size_t start = rest_.find_first_not_of(' ');
    return start == std::string_view::npos ? std::string_view() : rest_.substr(start);
  }

  bool AtEndOfField() const { return rest_.empty() || rest_.front() == ' '; }

 private:
  std::string_view rest_;
};

std::string Unescape(std::string_view path) {
  constexpr std::string_view kEscapedNewline = "\\012";
  std::string plain;
  plain.reserve(path.size());
  for (;;) {
    size_t at = path.find(kEscapedNewline);
    plain += path.substr(0, at);
    if (at == std::string_view::npos) return plain;
    plain += '\n';
    path.remove_prefix(at + kEscapedNewline.size());
  }
}

bool ParseLine(std::string_view line, Mapping* mapping) {
  LineParser parser(line);
  if (!parser.Number(16, &mapping->start.value) || !parser.Character('-') ||
      !parser.Number(16, &mapping->end.value) || !parser.Character(' ') ||
      !parser.Permission('r', '-', &mapping->readable) ||
      !parser.Permission('w', '-', &mapping->writable) ||
      !parser.Permission('x', '-', &mapping->executable) ||
      !parser.Permission('s', 'p', &mapping->shared) || !parser.Character(' ') ||
      !parser.Number(16, &mapping->offset.value) || !parser.Character(' ') ||
      !parser.Number32(16, &mapping->device_major) || !parser.Character(':') ||
      !parser.Number32(16, &mapping->device_minor) || !parser.Character(' ') ||
      !parser.Number(10, &mapping->inode) || !parser.AtEndOfField() ||
      mapping->end < mapping->start) {
    return false;
  }
  std::string_view path = parser.Path();
  if (path.starts_with('/') && path.ends_with(kDeletedSuffix)) {
    mapping->deleted = true;
    path.remove_suffix(kDeletedSuffix.size());
  }
  mapping->path = Unescape(path);
  return true;
}

}  // namespace

StatusOr<std::vector<Mapping>> ReadProcessMaps(pid_t pid) {
  const std::string path = ProcPath(pid, "maps");
  HBBP_ASSIGN_OR_RETURN(std::string text, ReadTextFile(path, kMaxMapsBytes));
  StatusOr<std::vector<Mapping>> mappings = ParseProcessMaps(text);
  if (!mappings.ok()) return mappings.status().Annotate(path);
  return mappings;
}

StatusOr<std::vector<Mapping>> ParseProcessMaps(std::string_view text) {
  std::vector<Mapping> mappings;
  constexpr size_t kUsualLine = 80;
  mappings.reserve(text.size() / kUsualLine);
  int line_number = 0;
  while (!text.empty()) {
    ++line_number;
    size_t line_end = text.find('\n');
    std::string_view line = text.substr(0, line_end);
    text.remove_prefix(line_end == std::string_view::npos ? text.size() : line_end + 1);
    if (!ParseLine(line, &mappings.emplace_back())) {
      return MakeStatus(StatusCode::kBadFormat, "line %d is not a mapping: \"%.*s\"", line_number,
                        static_cast<int>(std::min<size_t>(line.size(), 120)), line.data());
    }
  }
  return mappings;
}

}  // namespace hbbp
