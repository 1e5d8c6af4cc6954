#include "progress.h"

#include <algorithm>
#include <cstdio>
#include <string>

#include "format.h"

namespace hbbp::tools {

Progress::~Progress() {
  if (has_shown_) std::fputs("\r\033[K", stderr);
}

void Progress::Show(uint64_t instructions) {
  if (!is_shown_) return;
  has_shown_ = true;
  std::string line;
  if (max_instructions_ != 0) {
    constexpr size_t kWidth = 40;
    const double share = static_cast<double>(instructions) / static_cast<double>(max_instructions_);
    std::string bar(static_cast<size_t>(std::min(share, 1.0) * kWidth), '#');
    bar.resize(kWidth, '.');
    line = "[" + bar + "] ";
  }
  const double seconds = static_cast<double>(ClockNs(CLOCK_MONOTONIC) - start_ns_) / 1e9;
  line += FormatCount(instructions) + " instructions, " +
          FormatCount(static_cast<double>(instructions) / seconds) + " a second";
  std::fprintf(stderr, "\r\033[K%s", line.c_str());
}

}  // namespace hbbp::tools
