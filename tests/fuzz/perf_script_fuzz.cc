// Parses any text as lines of perf script, and of text that was added up.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "perf_data/aggregated_line.h"
#include "perf_data/perf_script_line.h"

namespace {

void Require(bool condition) {
  if (!condition) std::abort();
}

void Read(std::string_view line) {
  if (const auto mmap = hbbp::ParseMmapLine(line)) {
    Require(mmap->path.size() + 2 * mmap->build_id.size() <= line.size());
  }
  if (const auto sample = hbbp::ParseSampleLine(line)) {
    // The shortest entry is "0x1/1".
    Require(sample->branches.size() * 5 <= line.size());
    // With a call chain, a line has a process and no address.
    Require(sample->ip || sample->pid || !sample->branches.empty());
  }
  (void)hbbp::ParseCountLine(line);
  if (const auto aggregated = hbbp::ParseAggregatedLine(line)) {
    const bool has_location =
        aggregated->ip || aggregated->to || aggregated->from || aggregated->end;
    Require(has_location != !aggregated->event.empty());
    for (const auto& location : {aggregated->from, aggregated->to, aggregated->end}) {
      if (location) Require(location->build_id.size() % 2 == 0);
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  (void)hbbp::IsAggregatedText(text);
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    Read(line);
    text.remove_prefix(line.size() == text.size() ? line.size() : line.size() + 1);
  }
  return 0;
}
