// Calls perf_event_open, with errors that say what to do next.
#ifndef HBBP_LIB_PERF_PERF_EVENT_H_
#define HBBP_LIB_PERF_PERF_EVENT_H_

#include <linux/perf_event.h>
#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

#include "base/status.h"
#include "base/unique_fd.h"

namespace hbbp {

// Returns an attr with its size, `type` and `config` set and everything else zero.
perf_event_attr MakePerfEventAttr(uint32_t type, uint64_t config);

// Returns a close-on-exec descriptor, or -1 with errno set.
int RawPerfEventOpen(const perf_event_attr& attr, pid_t tid, int cpu);

// `event_name` is for the message: "perf_event_open(task-clock): EACCES; ...".
StatusOr<UniqueFd> OpenPerfEvent(const perf_event_attr& attr, pid_t tid, int cpu,
                                 const std::string& event_name);

// Returns false if the program closed the descriptor, whose number may by now be that of a file of
// its own.
bool IsPerfEvent(int fd);

// Says what RawPerfEventOpen's errno means for the user, on this machine as it is set up now.
Status PerfEventOpenStatus(int error_number, const std::string& event_name);

// Returns an error for events that happen in the kernel only, where what counts user code alone
// finds none: context switches, for example.
Status CheckHappensInUserCode(uint32_t type, uint64_t config, const std::string& event_name);

// Returns kernel.perf_event_paranoid, or nothing if the kernel has no perf events.
std::optional<int> PerfEventParanoid();

}  // namespace hbbp

#endif  // HBBP_LIB_PERF_PERF_EVENT_H_
