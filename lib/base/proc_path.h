// The paths of a process and of its threads below /proc. `pid` 0 is the calling process.
#ifndef HBBP_LIB_BASE_PROC_PATH_H_
#define HBBP_LIB_BASE_PROC_PATH_H_

#include <sys/types.h>

#include <string>

namespace hbbp {

// Returns "/proc/PID/task/TID/FILE".
std::string ProcPath(pid_t pid, pid_t tid, const char* file);

// Returns "/proc/PID/FILE". Of the calling process it is that of the calling thread: /proc/self has
// no memory after the main thread ended by pthread_exit.
inline std::string ProcPath(pid_t pid, const char* file) { return ProcPath(pid, 0, file); }

}  // namespace hbbp

#endif  // HBBP_LIB_BASE_PROC_PATH_H_
