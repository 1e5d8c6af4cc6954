// What /proc/PID/stat says of a process.
#ifndef HBBP_LIB_BASE_PROC_STAT_H_
#define HBBP_LIB_BASE_PROC_STAT_H_

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string_view>

namespace hbbp {

struct ProcStat {
  bool is_of_kernel = false;  // a thread of the kernel
  bool has_executed = false;  // a program (exec), since it was forked
  uint64_t page_faults = 0;   // of all threads, minor and major
};

// Returns nothing if it has not that form.
std::optional<ProcStat> ParseProcStat(std::string_view text);
// Returns nothing if /proc does not show the process.
std::optional<ProcStat> ReadProcStat(pid_t pid);

}  // namespace hbbp

#endif  // HBBP_LIB_BASE_PROC_STAT_H_
