// Reads fields of /proc/self/status, and of that of its threads and of other processes.
#ifndef HBBP_LIB_BASE_OWN_STATUS_H_
#define HBBP_LIB_BASE_OWN_STATUS_H_

#include <sys/types.h>

namespace hbbp {

// Counts the seccomp filters of the main thread; 0 if /proc does not show it. Before Linux 5.9 it
// returns the seccomp mode, which changes with the first filter. It makes only system calls that
// the dynamic linker has made before.
int CountSeccompFilters();

// Returns the process that traces the main thread of process `pid` by ptrace (a debugger, strace),
// or 0. A `pid` of 0 is the calling process.
pid_t TracerPid(pid_t pid = 0);

// Returns whether the thread of the calling process blocks the signal; false if /proc does not show
// it.
bool BlocksSignal(pid_t tid, int signal);

}  // namespace hbbp

#endif  // HBBP_LIB_BASE_OWN_STATUS_H_
