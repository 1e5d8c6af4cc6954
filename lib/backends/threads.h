// Lists the threads of a process.
#ifndef HBBP_LIB_BACKENDS_THREADS_H_
#define HBBP_LIB_BACKENDS_THREADS_H_

#include <sys/types.h>

#include <vector>

#include "base/status.h"

namespace hbbp {

// Returns the tids, sorted. `pid` 0 is the calling process.
StatusOr<std::vector<pid_t>> ListThreads(pid_t pid = 0);

// Returns those that are in `only`, which is sorted, or all if it is empty.
StatusOr<std::vector<pid_t>> ListThreadsAmong(const std::vector<pid_t>& only, pid_t pid = 0);

// Returns kNotFound, with the tid, if the process does not have one of the threads.
Status CheckThreads(const std::vector<pid_t>& threads, pid_t pid = 0);

}  // namespace hbbp

#endif  // HBBP_LIB_BACKENDS_THREADS_H_
