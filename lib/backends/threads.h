// The threads of the calling process and the CPUs that they can run on.
#ifndef HBBP_LIB_BACKENDS_THREADS_H_
#define HBBP_LIB_BACKENDS_THREADS_H_

#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace hbbp {

// Sorted.
StatusOr<std::vector<pid_t>> ListThreads();

// Numbers of the CPUs that are online, sorted.
StatusOr<std::vector<int>> ListOnlineCpus();

// "0-3,8" -> 0 1 2 3 8. kBadFormat for anything else.
StatusOr<std::vector<int>> ParseCpuList(std::string_view text);

}  // namespace hbbp

#endif  // HBBP_LIB_BACKENDS_THREADS_H_
