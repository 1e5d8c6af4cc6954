// What /proc/self/status says of the calling process.
#ifndef HBBP_LIB_BASE_OWN_STATUS_H_
#define HBBP_LIB_BASE_OWN_STATUS_H_

#include <sys/types.h>

namespace hbbp {

// Seccomp filters of the main thread, 0 if /proc does not show it. Before Linux 5.9 what changes
// with the first one. Uses no system calls but those that the dynamic linker has used.
int CountSeccompFilters();

// The process that traces the main thread by ptrace: a debugger, strace. 0: none.
pid_t TracerPid();

}  // namespace hbbp

#endif  // HBBP_LIB_BASE_OWN_STATUS_H_
