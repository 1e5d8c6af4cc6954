#include "base/cpu_list.h"

#include <algorithm>
#include <charconv>
#include <string>

#include "base/files.h"

namespace hbbp {

StatusOr<std::vector<int>> ListOnlineCpus() {
  constexpr char kPath[] = "/sys/devices/system/cpu/online";
  const StatusOr<std::string> text = ReadTextFile(kPath);
  if (text.status().code() == StatusCode::kNotFound) {
    return MakeStatus(
        StatusCode::kUnsupported,
        "%s: /sys is not mounted here, and it lists the CPUs: mount it, in a chroot too", kPath);
  }
  if (!text.ok()) return text.status();
  StatusOr<std::vector<int>> cpus = ParseCpuList(*text);
  if (!cpus.ok()) return cpus.status().Annotate(kPath);
  return cpus;
}

StatusOr<std::vector<int>> ParseCpuList(std::string_view text) {
  constexpr uint64_t kMaxCpus = 1 << 16;
  const Status bad = MakeStatus(StatusCode::kBadFormat, "\"%.*s\" is not a list of CPUs",
                                static_cast<int>(std::min<size_t>(text.size(), 100)), text.data());
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.remove_suffix(1);
  std::vector<int> cpus;
  const char* position = text.data();
  const char* const end = text.data() + text.size();
  while (position != end) {
    uint64_t first = 0;
    auto parsed = std::from_chars(position, end, first);
    if (parsed.ec != std::errc() || first >= kMaxCpus) return bad;
    uint64_t last = first;
    if (parsed.ptr != end && *parsed.ptr == '-') {
      parsed = std::from_chars(parsed.ptr + 1, end, last);
      if (parsed.ec != std::errc() || last < first || last >= kMaxCpus) return bad;
    }
    for (; first <= last; ++first) cpus.push_back(static_cast<int>(first));
    position = parsed.ptr;
    if (position == end) break;
    if (*position != ',' || ++position == end) return bad;
  }
  return cpus;
}

}  // namespace hbbp
