// Progress shows "12,345,678 instructions, 65,000 a second" on a terminal, over and over in one
// line; with a limit, "[#####.....]" is in front.
#ifndef HBBP_TOOLS_PROGRESS_H_
#define HBBP_TOOLS_PROGRESS_H_

#include <unistd.h>

#include <cstdint>

#include "base/clock.h"

namespace hbbp::tools {

class Progress {
 public:
  // 0: without limit.
  explicit Progress(uint64_t max_instructions)
      : is_shown_(::isatty(STDERR_FILENO) == 1), max_instructions_(max_instructions) {}
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void Show(uint64_t instructions);

 private:
  bool is_shown_;
  bool has_shown_ = false;
  uint64_t max_instructions_;
  uint64_t start_ns_ = ClockNs(CLOCK_MONOTONIC);
};

}  // namespace hbbp::tools

#endif  // HBBP_TOOLS_PROGRESS_H_
