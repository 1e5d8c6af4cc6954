// The threads of a process.
#ifndef HBBP_LIB_BACKENDS_THREADS_H_
#define HBBP_LIB_BACKENDS_THREADS_H_

#include <sys/types.h>

#include <vector>

#include "base/status.h"

namespace hbbp {

// Sorted. `pid` 0: of the calling process.
StatusOr<std::vector<pid_t>> ListThreads(pid_t pid = 0);

// Those of them that are in `only`, which is sorted; all if it is empty.
StatusOr<std::vector<pid_t>> ListThreadsAmong(const std::vector<pid_t>& only, pid_t pid = 0);

// kNotFound names a thread that the process does not have.
Status CheckThreads(const std::vector<pid_t>& threads, pid_t pid = 0);

}  // namespace hbbp

#endif  // HBBP_LIB_BACKENDS_THREADS_H_
