// Reads fields of /proc/self/status, and of that of its threads and of other processes, and the
// names of threads.
#ifndef HBBP_LIB_BASE_OWN_STATUS_H_
#define HBBP_LIB_BASE_OWN_STATUS_H_

#include <sys/types.h>

#include <climits>
#include <string>

namespace hbbp {

// Counts the seccomp filters of the main thread; 0 if /proc does not show it. Before Linux 5.9 it
// returns the seccomp mode, which changes with the first filter. It makes only system calls that
// the dynamic linker has made before.
int CountSeccompFilters();

// Returns the process that traces the main thread of process `pid` by ptrace (a debugger, strace),
// or 0. A `pid` of 0 is the calling process.
pid_t TracerPid(pid_t pid = 0);

// Returns the name that a thread has now; empty if it cannot be read. A `pid` of 0 is the calling
// process.
std::string ThreadName(pid_t pid, pid_t tid);

// No thread has it.
inline constexpr pid_t kNoTid = INT_MAX;

// Returns what a thread of the calling process calls itself, which /proc lists as `listed`, or
// kNoTid if it has ended. They differ where /proc is of another PID namespace.
pid_t OwnTid(pid_t listed);

// Returns whether the thread of the calling process blocks the signal; false if /proc does not show
// it.
bool BlocksSignal(pid_t tid, int signal);

}  // namespace hbbp

#endif  // HBBP_LIB_BASE_OWN_STATUS_H_
