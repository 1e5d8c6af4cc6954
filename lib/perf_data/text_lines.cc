#include "perf_data/text_lines.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace hbbp {
namespace {

constexpr size_t kBlockBytes = 1 << 20;
constexpr size_t kMaxLineBytes = 16 << 20;

}  // namespace

Status ReadLines(ByteSource* source, const Work& work,
                 const std::function<void(std::string_view line)>& visit) {
  const uint64_t all_bytes = source->size().value_or(0);
  std::string text;  // what is not read yet, up to the end of a block
  std::vector<uint8_t> block(kBlockBytes);
  for (uint64_t read = 0;;) {
    HBBP_ASSIGN_OR_RETURN(const size_t got, source->Read(block));
    text.append(block.begin(), block.begin() + static_cast<std::ptrdiff_t>(got));
    read += got;
    const bool is_cut = got != 0 && text.size() < kMaxLineBytes;
    const size_t complete = is_cut ? text.rfind('\n') + 1 : text.size();
    for (std::string_view rest(text.data(), complete); !rest.empty();) {
      const size_t end = std::min(rest.find('\n'), rest.size());
      visit(rest.substr(0, end));
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    text.erase(0, complete);
    HBBP_RETURN_IF_ERROR(work.Report(read, std::max(read, all_bytes)));
    if (got == 0) return OkStatus();
  }
}

}  // namespace hbbp
