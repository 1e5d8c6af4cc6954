// Makes the view of what a process did in an interval.
#ifndef HBBP_TOOLS_TOP_INTERVAL_VIEW_H_
#define HBBP_TOOLS_TOP_INTERVAL_VIEW_H_

#include <sys/types.h>

#include <optional>
#include <string>

#include "top/interval_sampler.h"
#include "top/process_status.h"
#include "top/view.h"

namespace hbbp::tools {

// A process at the end of an interval.
struct ObservedProcess {
  pid_t pid = 0;
  ProcessStatus status;             // the last one that was known
  std::optional<double> cpu_share;  // of one CPU, in the interval
};

// Returns "4711 (python3)".
std::string TitleOf(const ObservedProcess& process);

// Throws hbbp::error.
View MakeView(const ObservedProcess& process, const Interval& interval);

}  // namespace hbbp::tools

#endif  // HBBP_TOOLS_TOP_INTERVAL_VIEW_H_
